import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inventoryLines, routeInventory } from '../support/route-inventory.js';
import type { RouteEntry } from '../support/route-inventory.js';
import { wholeOffice, type WholeOffice } from '../support/whole-office.js';

/** The whole office, built but never opened: its routes are read, nothing of it runs. */
describe('the routes of the whole office', () => {
  let office: WholeOffice;
  let routes: RouteEntry[];
  beforeAll(async () => {
    office = await wholeOffice();
    routes = routeInventory(office.app);
  });
  afterAll(() => office.close());

  // A change of this snapshot is a change of who may do what. Review it as a change of permissions, not as a refresh.
  it('are these', () => {
    expect(inventoryLines(routes)).toMatchSnapshot();
  });

  it('all say who may call them', () => {
    expect(routes.filter(({ access }) => access === 'UNDECLARED').map(({ handler }) => handler)).toEqual([]);
  });

  it('have no argument that nothing checks', () => {
    expect(inventoryLines(routes.filter(({ unchecked }) => unchecked.length > 0))).toEqual([]);
  });

  it('act once under an Idempotency-Key wherever they create or wake', () => {
    const exempt = new Set(['pause', 'unpause', 'stop', 'start', 'cancel', 'drain', 'push', 'discard', 'mcp']);
    const forgetful = routes.filter(
      ({ method, idempotent, path }) => method === 'POST' && !idempotent && !exempt.has(path.split('/').at(-1)!),
    );
    expect(forgetful.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });
});
