import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AGENT_ROLES, CAPABILITIES, capabilitiesOf, granting } from './capabilities.js';
import type { AgentRole, Capability } from './capabilities.js';

/** The table of contract 12, cell by cell: what each role has when nobody said otherwise. */
const TABLE: Readonly<Record<Capability, Readonly<Record<AgentRole, boolean>>>> = {
  post_comment: { ceo: true, assistant: true, worker: true, specialist: true, reviewer: true },
  update_task_status: { ceo: true, assistant: true, worker: true, specialist: true, reviewer: true },
  read_memory: { ceo: true, assistant: true, worker: true, specialist: true, reviewer: true },
  write_memory: { ceo: true, assistant: true, worker: true, specialist: true, reviewer: true },
  list_skills: { ceo: true, assistant: true, worker: true, specialist: true, reviewer: true },
  request_approval: { ceo: true, assistant: true, worker: true, specialist: true, reviewer: true },
  create_subtask: { ceo: true, assistant: true, worker: true, specialist: true, reviewer: false },
  assign_tasks: { ceo: true, assistant: true, worker: false, specialist: false, reviewer: false },
  spawn_agent_run: { ceo: true, assistant: true, worker: false, specialist: false, reviewer: false },
  create_agent: { ceo: true, assistant: false, worker: false, specialist: false, reviewer: false },
  modify_agents: { ceo: true, assistant: false, worker: false, specialist: false, reviewer: false },
  decide: { ceo: true, assistant: false, worker: false, specialist: false, reviewer: true },
  delete_skills: { ceo: false, assistant: false, worker: false, specialist: false, reviewer: false },
};

const cells = AGENT_ROLES.flatMap((role) => CAPABILITIES.map((capability) => ({ role, capability, has: TABLE[capability][role] })));

describe('capabilitiesOf', () => {
  it.each(cells)('$role has $capability by default: $has', ({ role, capability, has }) => {
    expect(capabilitiesOf(role).includes(capability)).toBe(has);
  });

  it.each(cells)('denies $capability to $role, even where it is allowed as well', ({ role, capability }) => {
    expect(capabilitiesOf(role, { allow: [capability], deny: [capability] })).not.toContain(capability);
  });

  it.each(cells)('allows $capability to $role when told to, and changes nothing else', ({ role, capability }) => {
    const before = new Set(capabilitiesOf(role));
    expect(new Set(capabilitiesOf(role, { allow: [capability] }))).toEqual(before.add(capability));
  });

  it('answers in the order of the vocabulary and each capability once', () => {
    expect(capabilitiesOf('ceo', { allow: [...CAPABILITIES].toReversed(), deny: [] })).toEqual([...CAPABILITIES]);
  });
});

describe('granting', () => {
  const some = fc.subarray([...CAPABILITIES]);

  it('gives exactly that capability, whatever was allowed and denied, and says no more than it has to', () => {
    fc.assert(
      fc.property(fc.constantFrom(...AGENT_ROLES), some, some, fc.constantFrom(...CAPABILITIES), (role, allow, deny, capability) => {
        const held = capabilitiesOf(role, { allow, deny });
        const granted = granting(role, { allow, deny }, capability);
        expect(new Set(capabilitiesOf(role, granted))).toEqual(new Set([...held, capability]));
        const added = granted.allow!.filter((one) => !allow.includes(one));
        expect(added).toEqual(TABLE[capability][role] || allow.includes(capability) ? [] : [capability]);
        expect(granting(role, granted, capability)).toEqual(granted);
      }),
    );
  });
});
