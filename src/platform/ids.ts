import { v7 } from 'uuid';

/** A new row's id: UUIDv7, so that ids sort by creation and serve as keyset cursors. */
export const newId = (): string => v7();

/** The reserved user that dismisses what nobody pressed. Written by the first migration. */
export const SYSTEM_USER_ID = '00000000-0000-7000-8000-000000000001';
