/** What agents may ask for, as the run's log and the tools call it. */
export const ACTION_NAMES = [
  'me',
  'post_comment',
  'update_task_status',
  'create_subtask',
  'step_complete',
  'decide',
  'create_agent',
  'modify_agent',
  'unpause_agent',
  'spawn_agent_run',
  'request_approval',
  'read_memory',
  'write_memory',
  'list_skills',
  'delete_skill',
] as const;
export type ActionName = (typeof ACTION_NAMES)[number];
