/**
 * The key of a workspace's gate, an advisory lock: claims go through it together, a stop takes it alone. Not a lock of the
 * workspace's row, which every new task holds for its number.
 */
export const workspaceGate = (workspaceId: string): string => `hashtextextended('workspace-gate ' || ${workspaceId}::uuid::text, 0)`;
