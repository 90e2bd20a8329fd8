import { describe, expect, it } from 'vitest';
import { mcpServer } from './mcp-server.js';

const OFFER = { name: 'agent-office', url: 'http://127.0.0.1:8484/mcp', token: 'eyJ.a.b' };

describe('mcpServer', () => {
  it('is the server itself for an agent that takes them over HTTP', () => {
    expect(mcpServer(OFFER, true, ['node', 'bridge.js'])).toEqual({
      type: 'http',
      name: 'agent-office',
      url: 'http://127.0.0.1:8484/mcp',
      headers: [{ name: 'Authorization', value: 'Bearer eyJ.a.b' }],
    });
  });

  it('is a program between the two for any other, and never has the token among its arguments', () => {
    expect(mcpServer(OFFER, false, ['node', 'bridge.js'])).toEqual({
      name: 'agent-office',
      command: 'node',
      args: ['bridge.js'],
      env: [
        { name: 'OFFICE_MCP_URL', value: 'http://127.0.0.1:8484/mcp' },
        { name: 'OFFICE_API_KEY', value: 'eyJ.a.b' },
      ],
    });
  });
});
