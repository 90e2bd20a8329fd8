import { CreateAgent, ModifyAgent, SpawnAgentRun, UnpauseAgent } from './actions/agents.js';
import { RequestApproval } from './actions/approvals.js';
import { Me } from './actions/me.js';
import { ReadMemory, WriteMemory } from './actions/memory.js';
import { DeleteSkill, ListSkills } from './actions/skills.js';
import { CompleteStep, Decide } from './actions/steps.js';
import { CreateSubtask, PostComment, UpdateTaskStatus } from './actions/tasks.js';
import type { ActionClass } from './runtime-action.js';

/** Everything an agent may ask for. Route, tool, guards and log of a further one follow from its entry here. */
export const RUNTIME_ACTIONS: readonly ActionClass[] = [
  Me,
  PostComment,
  UpdateTaskStatus,
  CreateSubtask,
  CompleteStep,
  Decide,
  CreateAgent,
  ModifyAgent,
  UnpauseAgent,
  SpawnAgentRun,
  RequestApproval,
  ReadMemory,
  WriteMemory,
  ListSkills,
  DeleteSkill,
];
