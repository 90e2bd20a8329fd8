/** What an agent may be asked to be. The role gives the defaults; its permissions change them one by one. */
export const AGENT_ROLES = ['ceo', 'assistant', 'worker', 'specialist', 'reviewer'] as const;
export type AgentRole = (typeof AGENT_ROLES)[number];

/** Everything an agent can be allowed to do (contract 12). Frozen in a run when it is claimed. */
export const CAPABILITIES = [
  'post_comment',
  'update_task_status',
  'read_memory',
  'write_memory',
  'list_skills',
  'request_approval',
  'create_subtask',
  'assign_tasks',
  'spawn_agent_run',
  'create_agent',
  'modify_agents',
  'decide',
  'delete_skills',
] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** Changes to what the role gives. What stands in both lists is denied. */
export interface AgentPermissions {
  readonly allow?: readonly Capability[];
  readonly deny?: readonly Capability[];
}

const EVERYONE = ['post_comment', 'update_task_status', 'read_memory', 'write_memory', 'list_skills', 'request_approval'] as const;

// `delete_skills` is in nobody's row on purpose: what a skill says is shared by the whole workspace.
const BY_ROLE: Readonly<Record<AgentRole, ReadonlySet<Capability>>> = {
  ceo: new Set([...EVERYONE, 'create_subtask', 'assign_tasks', 'spawn_agent_run', 'create_agent', 'modify_agents', 'decide']),
  assistant: new Set([...EVERYONE, 'create_subtask', 'assign_tasks', 'spawn_agent_run']),
  worker: new Set([...EVERYONE, 'create_subtask']),
  specialist: new Set([...EVERYONE, 'create_subtask']),
  reviewer: new Set([...EVERYONE, 'decide']),
};

/** The permissions with which a role has this capability too, and nothing else is different. */
export function granting(role: AgentRole, { allow = [], deny = [] }: AgentPermissions, capability: Capability): Required<AgentPermissions> {
  const stillDenied = deny.filter((one) => one !== capability);
  const isHeld = capabilitiesOf(role, { allow, deny: stillDenied }).includes(capability);
  return { allow: isHeld ? allow : [...allow, capability], deny: stillDenied };
}

/** The capabilities of a role under its permissions, in the order of the vocabulary. Deny wins. */
export function capabilitiesOf(role: AgentRole, permissions: AgentPermissions = {}): Capability[] {
  const { allow = [], deny = [] } = permissions;
  return CAPABILITIES.filter((capability) => (BY_ROLE[role].has(capability) || allow.includes(capability)) && !deny.includes(capability));
}
