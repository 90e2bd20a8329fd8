import { join } from 'node:path';

/**
 * Programs of this room that run as processes of their own are started as compiled JavaScript: they stand beside this file
 * when it is compiled itself, and under `dist/` when it is run from its source, as in tests.
 */
const compiled = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '..', '..', 'dist', 'src', 'execution')
  : import.meta.dirname;

export const SUPERVISOR_ENTRY = join(compiled, 'supervisor', 'supervisor.main.js');
/** Stands between the office's tools and agents that take none over HTTP. */
export const MCP_BRIDGE_ENTRY = join(compiled, 'mcp-bridge', 'mcp-bridge.main.js');
export const MOCK_AGENT_ENTRY = join(compiled, 'mock-agent', 'mock-agent.main.js');
