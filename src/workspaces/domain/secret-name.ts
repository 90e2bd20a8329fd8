/** What a secret may be called: what an environment variable may, so that it can become one. */
export const isSecretName = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(name);
