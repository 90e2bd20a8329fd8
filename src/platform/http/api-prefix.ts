/** Stands before every route that is not at the root. */
export const API_PREFIX = 'api/v1';
