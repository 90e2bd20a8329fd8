import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CodexOffice } from './codex-office.js';
import { calls, says, type ModelRequest } from './model-server.js';

let office: CodexOffice;
beforeAll(async () => {
  office = await CodexOffice.open();
});
afterAll(() => office?.close());

/** A tool of the office, as Codex tells it to its model: a function in the namespace of its server. */
function toolNamed({ tools }: ModelRequest, name: string): { name: string; namespace: string } {
  const ours = tools.find((tool) => tool.type === 'namespace' && tool.tools?.some((inner) => inner.name === name));
  if (ours?.name === undefined) throw new Error(`the model was offered no tool ${name}`);
  return { name, namespace: ours.name };
}

describe('the real Codex with the tools of the office', () => {
  it('comments on its task and moves it to review through MCP', async (test) => {
    const desk = await office.hire(test, { policy: 'allow' });
    desk.model.reply = calls(
      (request) => ({ ...toolNamed(request, 'post_comment'), arguments: { body: 'The door is mended.' } }),
      (request) => ({ ...toolNamed(request, 'update_task_status'), arguments: { status: 'in_review' } }),
    )(says('Moved to review.'));
    const task = await desk.assign('Mend the door');

    expect(await task.ended()).toMatchObject({ status: 'completed', stop_reason: 'end_turn', error_message: null });
    expect(await task.comments()).toMatchObject([{ source: 'agent', author: { name: 'Codex' }, body: 'The door is mended.' }]);
    expect(await task.state()).toBe('REVIEW');
    expect(
      (await task.events())
        .filter(({ event_type }) => event_type.startsWith('runtime.'))
        .map(({ event_type, payload }) => [event_type, payload]),
    ).toEqual([
      ['runtime.action', expect.objectContaining({ action: 'post_comment' })],
      ['runtime.action', expect.objectContaining({ action: 'update_task_status' })],
    ]);
    expect(desk.model.conversation()).toContain('.agents/skills/<name>/SKILL.md');
    await desk.noProcessLeft();
  });
});
