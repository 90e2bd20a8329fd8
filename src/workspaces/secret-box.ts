import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** A value as it lies in the table: AES-256-GCM with a nonce of its own. */
export interface Sealed {
  readonly nonce: Buffer;
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

/** Where a value belongs. It is authenticated with it, so that a row moved to another name or workspace does not open. */
export interface Place {
  readonly workspaceId: string;
  readonly name: string;
}

const ALGORITHM = 'aes-256-gcm';
const labelOf = ({ workspaceId, name }: Place): Buffer =>
  Buffer.from(JSON.stringify(['workspace-secret', workspaceId.toLowerCase(), name]));

export function seal(key: Buffer, place: Place, value: string): Sealed {
  const nonce = randomBytes(12);
  const cipher = createCipheriv(ALGORITHM, key, nonce);
  cipher.setAAD(labelOf(place));
  const ciphertext = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]);
  return { nonce, ciphertext, tag: cipher.getAuthTag() };
}

/** The value, or null when this key does not open it: another key, another place, or a changed row. */
export function unseal(key: Buffer, place: Place, { nonce, ciphertext, tag }: Sealed): string | null {
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: 16 });
  decipher.setAAD(labelOf(place));
  try {
    decipher.setAuthTag(tag);
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8');
  } catch {
    // GCM says no more than that, and there is no more to say: the caller names the secret.
    return null;
  }
}
