import { REAL_AGENTS } from '../real-agents.js';
import { situationsOf } from '../situations.js';

situationsOf(REAL_AGENTS);
