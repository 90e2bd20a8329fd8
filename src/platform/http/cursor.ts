import { OfficeError } from '../errors/office-error.js';
import { isUuid } from './uuid.js';

/** A place in a list: the key of the last row that was shown. Opaque on the wire, so that nobody builds one. */
export const encodeCursor = (key: string): string => Buffer.from(key, 'utf8').toString('base64url');

/** The key a cursor stands for, or null for no cursor. Refuses whatever `encodeCursor` did not make of such a key. */
export function decodeCursor(cursor: string | undefined, isKey: (key: string) => boolean = isUuid): string | null {
  if (cursor === undefined) return null;
  const key = Buffer.from(cursor, 'base64url').toString('utf8');
  if (!isKey(key) || encodeCursor(key) !== cursor) throw new OfficeError('invalid_cursor');
  return key;
}
