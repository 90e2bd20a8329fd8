import { describe, expect, it } from 'vitest';
import { isComplaint, readRequest } from './request.js';

const ID = '01890000-0000-7000-8000-000000000abc';
const asking = (action: string, payload: unknown, more: object = {}) => ({ id: 'a', type: 'request', action, payload, ...more });

describe('readRequest', () => {
  it('understands a subscription from a place on, with the id in small letters', () => {
    expect(readRequest(asking('workspace.subscribe', { workspace_id: ID.toUpperCase(), after: 4 }))).toEqual({
      id: 'a',
      action: 'workspace.subscribe',
      verb: 'subscribe',
      topic: { kind: 'workspace', id: ID },
      after: 4,
    });
  });

  it('takes no place for from now on, and no payload for an empty one', () => {
    expect(readRequest(asking('task.subscribe', { task_id: ID }))).toMatchObject({ after: null });
    expect(readRequest({ type: 'request', action: 'health.check' })).toEqual({ id: null, action: 'health.check', verb: 'check' });
  });

  it('counts the revisions of a session', () => {
    expect(readRequest(asking('session.subscribe', { session_id: ID, after_rev: 0 }))).toMatchObject({ after: 0 });
  });

  it.each([
    ['no object', [], 'BAD_REQUEST'],
    ['no JSON at all', undefined, 'BAD_REQUEST'],
    ['null', null, 'BAD_REQUEST'],
    ['a response', { type: 'response', action: 'health.check' }, 'BAD_REQUEST'],
    ['no type', { action: 'health.check' }, 'BAD_REQUEST'],
    ['no action', { type: 'request' }, 'BAD_REQUEST'],
    ['an endless action', asking('a'.repeat(101), {}), 'BAD_REQUEST'],
    ['an id that is a number', asking('health.check', {}, { id: 7 }), 'BAD_REQUEST'],
    ['an endless id', asking('health.check', {}, { id: 'a'.repeat(101) }), 'BAD_REQUEST'],
    ['a field we do not know', asking('health.check', {}, { token: 'x' }), 'BAD_REQUEST'],
    ['an action we do not know', asking('workspace.delete', { workspace_id: ID }), 'UNKNOWN_ACTION'],
    ['an action that objects have by birth', asking('constructor', {}), 'UNKNOWN_ACTION'],
    ['a payload that is a list', asking('workspace.subscribe', []), 'VALIDATION_ERROR'],
    ['no workspace', asking('workspace.subscribe', {}), 'VALIDATION_ERROR'],
    ['a workspace that is no id', asking('workspace.subscribe', { workspace_id: "' or true --" }), 'VALIDATION_ERROR'],
    ['a place before the beginning', asking('workspace.subscribe', { workspace_id: ID, after: -1 }), 'VALIDATION_ERROR'],
    ['half a place', asking('workspace.subscribe', { workspace_id: ID, after: 1.5 }), 'VALIDATION_ERROR'],
    ['a place as text', asking('workspace.subscribe', { workspace_id: ID, after: '1' }), 'VALIDATION_ERROR'],
    ['a place no number can hold', asking('workspace.subscribe', { workspace_id: ID, after: 2 ** 53 }), 'VALIDATION_ERROR'],
    ['no place at all', asking('workspace.subscribe', { workspace_id: ID, after: null }), 'VALIDATION_ERROR'],
    ['a field of another action', asking('workspace.subscribe', { workspace_id: ID, after_rev: 1 }), 'VALIDATION_ERROR'],
    ['a field for nothing', asking('health.check', { deep: true }), 'VALIDATION_ERROR'],
  ])('refuses %s', (_what, frame, code) => {
    const answer = readRequest(frame);
    expect(isComplaint(answer) && answer.code).toBe(code);
  });

  it('says whose request it refuses', () => {
    expect(readRequest(asking('nothing.such', {}))).toMatchObject({ id: 'a', action: 'nothing.such' });
  });
});
