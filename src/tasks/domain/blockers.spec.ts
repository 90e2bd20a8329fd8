import { describe, expect, it } from 'vitest';
import { cyclePath } from './blockers.js';

const waits = (...pairs: string[]) => pairs.map((pair) => ({ taskId: pair[0]!, blockerId: pair[1]! }));

describe('cyclePath', () => {
  it.each([
    ['itself', ['A'], waits(), ['A', 'A']],
    ['one that waits for it', ['B'], waits('BA'), ['A', 'B', 'A']],
    ['one that waits for it through others', ['B'], waits('BC', 'CD', 'DA'), ['A', 'B', 'C', 'D', 'A']],
    ['several, by the shortest way', ['B', 'E'], waits('BC', 'CA', 'EA'), ['A', 'E', 'A']],
    ['one in a diamond', ['B'], waits('BC', 'BD', 'CE', 'DE', 'EA'), ['A', 'B', 'C', 'E', 'A']],
  ])('names the way when a task would wait for %s', (_name, blockers, known, path) => {
    expect(cyclePath('A', blockers, known)).toEqual(path);
  });

  it.each([
    ['no blockers', [], waits('BA')],
    ['a blocker without any', ['B'], waits()],
    ['a diamond that comes from elsewhere', ['B', 'C'], waits('BD', 'CD', 'DE')],
    ['a ring it is no part of', ['B'], waits('BC', 'CB')],
  ])('finds none with %s', (_name, blockers, known) => {
    expect(cyclePath('A', blockers, known)).toBeNull();
  });
});
