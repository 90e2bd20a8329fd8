/**
 * Whether a task belongs to the Office (contract 9), defined once: SQL, in which `workflow` is the task's joined workflow,
 * and TypeScript gets its answer. A project will say so too, once tasks have one.
 */
export const IS_FROM_OFFICE = `(workflow.is_office_default and workflow.style <> 'kanban')`;
