import type { AgentRole } from '../../access/domain/capabilities.js';

/** How deep below a task of its own making nobody may go: the CEO three levels, everybody else one. */
const DEEPEST: Readonly<Record<AgentRole, number>> = { ceo: 3, assistant: 1, worker: 1, specialist: 1, reviewer: 1 };

/** May this role make a task below one that has so many above it? */
export const maySubdivide = (role: AgentRole, tasksAbove: number): boolean => tasksAbove + 1 <= DEEPEST[role];
