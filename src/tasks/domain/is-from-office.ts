/**
 * Whether a task belongs to the Office (contract 9), defined once: SQL, in which `task` is the task and `workflow` its joined
 * workflow. TypeScript reads the answer (`is_office`) and never forms its own.
 */
export const IS_FROM_OFFICE = `((task.project_id is not null or workflow.is_office_default) and workflow.style <> 'kanban')`;
