/** A blocker holds a task up while it is neither closed, archived nor deleted. SQL, in which `blocker` is its row of `tasks`. */
export const IS_OPEN_BLOCKER = `(blocker.state not in ('DONE', 'CANCELLED') and blocker.archived_at is null and blocker.deleted_at is null)`;
