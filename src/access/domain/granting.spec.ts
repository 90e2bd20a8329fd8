import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AGENT_ROLES, CAPABILITIES, capabilitiesOf, type AgentPermissions, type AgentRole, type Capability } from './capabilities.js';
import { mayGrant, type Granter } from './granting.js';

const role = fc.constantFrom(...AGENT_ROLES);
const some = fc.subarray([...CAPABILITIES]);
const permissions = fc.record({ allow: some, deny: some });

interface Agent {
  readonly role: AgentRole;
  readonly permissions: AgentPermissions;
}
const anAgent: fc.Arbitrary<Agent> = fc.record({ role, permissions });
const holds = (agent: Agent): Capability[] => capabilitiesOf(agent.role, agent.permissions);
const granterOf = (id: string, agent: Agent): Granter => ({ id, role: agent.role, holds: holds(agent) });

describe('mayGrant', () => {
  it('never lets what an agent hands on exceed what it holds', () => {
    fc.assert(
      fc.property(anAgent, anAgent, (caller, wanted) => {
        const allowed = mayGrant(granterOf('a', caller), { before: null, after: { role: wanted.role, holds: holds(wanted) } });
        const exceeds = holds(wanted).some((capability) => !holds(caller).includes(capability));
        return !allowed || (!exceeds && wanted.role !== 'ceo');
      }),
    );
  });

  it('never lets an agent touch one that holds what it lacks, nor change its own standing', () => {
    fc.assert(
      fc.property(anAgent, anAgent, anAgent, fc.boolean(), (caller, target, wanted, itself) => {
        const before = itself ? { id: 'a', role: caller.role, holds: holds(caller) } : { id: 'b', role: target.role, holds: holds(target) };
        const allowed = mayGrant(granterOf('a', caller), { before, after: { role: wanted.role, holds: holds(wanted) } });
        if (!allowed) return true;
        if (itself) return wanted.role === caller.role && holds(wanted).join() === holds(caller).join();
        return holds(target).every((capability) => holds(caller).includes(capability));
      }),
    );
  });

  // However many agents make and change each other, in whatever order: nobody ever holds what nobody held at first.
  it('keeps a whole staff from growing beyond what it held together', () => {
    const deed = fc.record({ by: fc.nat(5), to: fc.nat(5), wanted: anAgent, hires: fc.boolean() });
    fc.assert(
      fc.property(fc.array(anAgent, { minLength: 1, maxLength: 3 }), fc.array(deed, { maxLength: 30 }), (first, deeds) => {
        const staff = [...first];
        const atFirst = new Set(first.flatMap(holds));
        const ceos = first.filter((agent) => agent.role === 'ceo').length;
        for (const { by, to, wanted, hires } of deeds) {
          const [caller, target] = [by % staff.length, to % staff.length];
          const granter = granterOf(String(caller), staff[caller]!);
          const before = hires ? null : { id: String(target), role: staff[target]!.role, holds: holds(staff[target]!) };
          if (!mayGrant(granter, { before, after: { role: wanted.role, holds: holds(wanted) } })) continue;
          if (hires) staff.push(wanted);
          else staff[target] = wanted;
        }
        return staff.flatMap(holds).every((one) => atFirst.has(one)) && staff.filter((agent) => agent.role === 'ceo').length <= ceos;
      }),
    );
  });

  it('is allowed at all: a CEO hires a worker, an assistant with create_agent another', () => {
    const ceo = granterOf('a', { role: 'ceo', permissions: {} });
    const assistant = granterOf('a', { role: 'assistant', permissions: { allow: ['create_agent'] } });
    const worker = { role: 'worker' as const, holds: capabilitiesOf('worker') };
    expect(mayGrant(ceo, { before: null, after: worker })).toBe(true);
    expect(mayGrant(assistant, { before: null, after: worker })).toBe(true);
    expect(mayGrant(assistant, { before: null, after: { role: 'reviewer', holds: capabilitiesOf('reviewer') } })).toBe(false);
  });
});
