// What of the editor's settings the host is told as the person's own. A workspace's files may not loosen what the agent may do.

export const KEYS = ['model', 'role', 'runtime', 'limits', 'rules', 'env', 'save', 'mcpServers'] as const;

/** What an editor knows of one setting, by who has set it. */
export interface Inspected { globalValue?: unknown; workspaceValue?: unknown; workspaceFolderValue?: unknown }

/** The settings for `agent/settings` and initializationOptions; what is not set is left out. */
export function personal(inspect: (key: string) => Inspected | undefined, trusted: boolean): Record<string, unknown> {
  const told: Record<string, unknown> = {};
  for (const key of KEYS) {
    const value = inspect(key)?.globalValue;
    if (!isEmpty(value)) told[key] = value;
  }
  // The editor has asked the person already; asking again for the same folder would be a second question.
  told['trust'] = trusted ? 'always' : 'never';
  return told;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
