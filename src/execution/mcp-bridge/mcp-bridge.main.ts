import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { MCP_TOKEN_VARIABLE, MCP_URL_VARIABLE } from '../domain/mcp-server.js';

/**
 * The office's tools for agents that take no HTTP servers: what the agent says on stdin goes to the office over HTTP, what the
 * office answers goes to stdout. It knows none of the tools.
 */
const url = process.env[MCP_URL_VARIABLE];
const token = process.env[MCP_TOKEN_VARIABLE];
if (url === undefined || token === undefined) {
  process.stderr.write(`${MCP_URL_VARIABLE} and ${MCP_TOKEN_VARIABLE} must be set\n`);
  process.exit(1);
}

const agent: Transport = new StdioServerTransport();
// The SDK's class declares its optional members otherwise than the interface it implements.
const office = new StreamableHTTPClientTransport(new URL(url), {
  requestInit: { headers: { authorization: `Bearer ${token}` } },
}) as Transport;

const isRequest = (message: JSONRPCMessage): message is JSONRPCMessage & { id: string | number } => 'method' in message && 'id' in message;

/** A request the office could not be asked is answered by us: an agent must not wait for it. */
function pass(message: JSONRPCMessage): void {
  office.send(message).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    if (!isRequest(message)) return;
    const problem = { code: -32_000, message: 'The office could not be reached, or refused the token.' };
    void agent.send({ jsonrpc: '2.0', id: message.id, error: problem });
  });
}

agent.onmessage = pass;
agent.onclose = () => process.exit(0);
office.onmessage = (message) => void agent.send(message);
process.stdin.once('end', () => process.exit(0));
await office.start();
await agent.start();
