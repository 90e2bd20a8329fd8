import { afterAll, describe, expect, it } from 'vitest';
import { ExecutionRoom, type Asked } from './execution-room.js';

const room = new ExecutionRoom();
afterAll(() => room.close());

const OPTIONS = ['allow_once', 'allow_always', 'reject_once'].map((kind) => ({ optionId: `id-${kind}`, name: kind, kind }));
const DONE = ['reply', { stopReason: 'end_turn' }] as const;
const asks = (more: Asked = {}, after: readonly (readonly unknown[])[] = [DONE]): Asked => ({
  ...more,
  deeds: { 'session/prompt': [['ask', OPTIONS], ...after] },
});

describe('a permission request', () => {
  it.each([
    ['allow', 'allow_once', 'id-allow_once'],
    ['deny', 'deny', 'id-reject_once'],
  ] as const)('is answered by policy %s, and told', async (permissionPolicy, decision, optionId) => {
    const agent = await room.launch(asks({ config: { permissionPolicy } }));
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended' });
    expect(agent.said).toBe(JSON.stringify({ outcome: { outcome: 'selected', optionId } }));
    const [asked] = agent.all('permission_requested');
    expect(asked!.request).toMatchObject({ toolCall: { title: 'rm' }, options: OPTIONS });
    expect(agent.all('permission_answered')).toEqual([{ type: 'permission_answered', requestId: asked!.requestId, decision }]);
    await agent.stop();
  });

  it.each([
    ['allow_once', 'id-allow_once'],
    ['allow_always', 'id-allow_always'],
    ['deny', 'id-reject_once'],
  ] as const)('waits for a person, past every silence, and takes the answer %s once', async (decision, optionId) => {
    const agent = await room.launch(asks({ limits: { firstContentMs: 150 } }));
    const { requestId } = await agent.until('permission_requested');
    await room.clock.sleep(300);
    await room.runtime.answerPermission(agent.executionId, requestId, decision);
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended' });
    expect(agent.said).toContain(optionId);
    await expect(room.runtime.answerPermission(agent.executionId, requestId, decision)).rejects.toMatchObject({
      code: 'permission_not_found',
    });
    await agent.stop();
  });

  it('that nobody answers is denied in the end', async () => {
    const agent = await room.launch(asks({ limits: { permissionMs: 200 } }));
    expect(await agent.until('permission_answered')).toMatchObject({ decision: 'deny' });
    await agent.outcome();
    expect(agent.said).toContain('id-reject_once');
    await agent.stop();
  });

  it('stops the clock of the launch too', async () => {
    const agent = await room.launch({
      deeds: {
        'session/new': [
          ['ask', OPTIONS],
          ['reply', { sessionId: 's1' }],
        ],
      },
      limits: { startMs: 1_000 },
    });
    const { requestId } = await agent.until('permission_requested');
    await room.clock.sleep(1_200);
    await room.runtime.answerPermission(agent.executionId, requestId, 'allow_once');
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended', lastMessage: 'hello' });
    await agent.stop();
  });

  it('that was refused makes a cancelled turn an end like any other', async () => {
    const agent = await room.launch(asks({ config: { permissionPolicy: 'deny' } }, [['reply', { stopReason: 'cancelled' }]]));
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended', stopReason: 'end_turn' });
    await agent.stop();
  });

  it('that was granted does not excuse a cancelled turn', async () => {
    const agent = await room.launch(asks({ config: { permissionPolicy: 'allow' } }, [['reply', { stopReason: 'cancelled' }]]));
    expect(await agent.failure()).toMatchObject({ kind: 'unexpected_cancel' });
    expect(await agent.outcome()).toMatchObject({ evidence: { effectSeen: true } });
  });

  it('with nothing to choose is cancelled, which is a refusal', async () => {
    const agent = await room.launch({
      config: { permissionPolicy: 'allow' },
      deeds: {
        'session/prompt': [
          ['ask', 'nonsense'],
          ['reply', { stopReason: 'cancelled' }],
        ],
      },
    });
    expect(await agent.outcome()).toMatchObject({ kind: 'turn_ended' });
    expect(agent.said).toBe('{"outcome":{"outcome":"cancelled"}}');
    await agent.stop();
  });

  it('that still waits when its turn is stopped is withdrawn, and told before the end', async () => {
    const agent = await room.launch(asks({}, [['reply', { stopReason: 'cancelled' }]]));
    await agent.until('permission_requested');
    await agent.stop();
    await agent.gone();
    expect(agent.events.map(({ type }) => type)).toEqual([
      'launched',
      'session_ready',
      'permission_requested',
      'permission_answered',
      'update',
      'outcome',
      'gone',
    ]);
    expect(agent.said).toContain('cancelled');
    expect(await agent.outcome()).toEqual({ kind: 'stopped', reason: 'test' });
  });

  it('that is taken back by the agent, or left behind by its turn, waits no longer', async () => {
    const request = { id: 'q', method: 'session/request_permission', params: { sessionId: 's1', options: OPTIONS } };
    const takenBack = await room.launch({
      deeds: {
        'session/prompt': [
          ['frame', request],
          ['sleep', 50],
          ['frame', { method: '$/cancel_request', params: { requestId: 'q' } }],
          ['sleep', 50],
          ['reply', { stopReason: 'cancelled' }],
        ],
      },
    });
    expect(await takenBack.until('permission_answered')).toMatchObject({ decision: 'deny' });
    expect(await takenBack.failure()).toMatchObject({ kind: 'unexpected_cancel' });
    const leftBehind = await room.launch({ deeds: { 'session/prompt': [['frame', request], ['sleep', 50], DONE] } });
    expect(await leftBehind.outcome()).toMatchObject({ kind: 'turn_ended' });
    expect(leftBehind.events.findIndex(({ type }) => type === 'permission_answered')).toBeLessThan(
      leftBehind.events.findIndex(({ type }) => type === 'outcome'),
    );
    await leftBehind.stop();
  });
});
