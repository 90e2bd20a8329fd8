import { createHash } from 'node:crypto';

/** SHA-256, in hexadecimal digits: two things that differ have two of them. */
export const fingerprint = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');
