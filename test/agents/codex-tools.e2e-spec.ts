import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CodexOffice } from './codex-office.js';
import { calls, says, type ModelRequest } from './model-server.js';

let office: CodexOffice;
beforeAll(async () => {
  office = await CodexOffice.open();
});
afterAll(() => office?.close());

/** The names of the office's tools, as Codex tells them to its model: of one of them, or of all that end like it. */
function toolNamed(request: ModelRequest, name: string): string {
  const found = namesIn(request.tools).find((known) => known.endsWith(name));
  if (found === undefined) throw new Error(`the model was offered no tool ${name}: ${JSON.stringify(request.tools.map(({ name, type, tools }: any) => [type, name, tools?.map((t: any) => [t.type, t.name])]))}`);
  return found;
}

const namesIn = (tools: readonly { readonly name?: string }[]): string[] => tools.flatMap(({ name }) => (name === undefined ? [] : [name]));

describe('the real Codex with the tools of the office', () => {
  it('comments on its task and moves it to review through MCP', async (test) => {
    const desk = await office.hire(test, { policy: 'allow' });
    desk.model.reply = calls(
      (request) => ({ name: toolNamed(request, 'post_comment'), arguments: { body: 'The door is mended.' } }),
      (request) => ({ name: toolNamed(request, 'update_task_status'), arguments: { status: 'in_review' } }),
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
