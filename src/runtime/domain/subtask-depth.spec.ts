import { expect, it } from 'vitest';
import { AGENT_ROLES } from '../../access/domain/capabilities.js';
import { maySubdivide } from './subtask-depth.js';

it.each(AGENT_ROLES)('a %s goes as deep as its role allows', (role) => {
  const deepest = [0, 1, 2, 3, 4].filter((above) => maySubdivide(role, above)).length;
  expect(deepest).toBe(role === 'ceo' ? 3 : 1);
});
