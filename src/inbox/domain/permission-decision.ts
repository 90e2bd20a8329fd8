export const PERMISSION_DECISIONS = ['allow_once', 'allow_always', 'deny'] as const;
export type PermissionDecision = (typeof PERMISSION_DECISIONS)[number];
