/** An MCP server that an agent is to use: over HTTP, with a token of its own. */
export interface McpOffer {
  readonly name: string;
  readonly url: string;
  readonly token: string;
}

/** How the bridge is told whom to talk to. */
export const MCP_URL_VARIABLE = 'OFFICE_MCP_URL';
export const MCP_TOKEN_VARIABLE = 'OFFICE_API_KEY';

/** An entry of `mcpServers` in `session/new` and `session/load`: the server itself, or our bridge where the agent takes none over HTTP. */
export function mcpServer({ name, url, token }: McpOffer, takesHttp: boolean, bridge: readonly [string, ...string[]]): object {
  if (takesHttp) return { type: 'http', name, url, headers: [{ name: 'Authorization', value: `Bearer ${token}` }] };
  const [command, ...args] = bridge;
  const env = [
    { name: MCP_URL_VARIABLE, value: url },
    { name: MCP_TOKEN_VARIABLE, value: token },
  ];
  return { name, command, args, env };
}
