/** The agents the office can launch (wire document, "Adapters"). `custom` is any program that speaks ACP over stdio. */
export const ADAPTERS = ['claude', 'codex', 'copilot', 'amp', 'opencode', 'auggie', 'gemini', 'mock', 'custom'] as const;
export type Adapter = (typeof ADAPTERS)[number];
