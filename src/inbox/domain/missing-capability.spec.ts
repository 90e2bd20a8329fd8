import { describe, expect, it } from 'vitest';
import { asksForIt } from './missing-capability.js';

describe('asksForIt', () => {
  it.each([
    ['never had', {}, false, true],
    ['never had, and was left without', {}, true, true],
    ['is denied by name', { deny: ['spawn_agent_run'] }, false, true],
    ['is denied by name, and was left without', { deny: ['spawn_agent_run'] }, true, false],
    ['is denied and allowed, and was left without', { allow: ['spawn_agent_run'], deny: ['spawn_agent_run'] }, true, false],
    ['is denied something else, and was left without', { deny: ['decide'] }, true, true],
    ['has by now', { allow: ['spawn_agent_run'] }, false, false],
    ['has by now, after it was left without', { allow: ['spawn_agent_run'] }, true, false],
  ] as const)('of what the agent %s', (_, permissions, leftSoBefore, asks) => {
    expect(asksForIt({ role: 'worker', permissions }, 'spawn_agent_run', leftSoBefore)).toBe(asks);
  });

  it('knows what the role gives', () => {
    expect(asksForIt({ role: 'assistant', permissions: {} }, 'spawn_agent_run', false)).toBe(false);
  });
});
