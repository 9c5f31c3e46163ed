// What of the settings is the host's. Only the person's own: a workspace's files may not loosen what the agent may do.

import * as vscode from 'vscode';

const KEYS = ['model', 'role', 'runtime', 'limits', 'rules', 'env', 'save'] as const;

/** The section `agentHost` as the host reads it; what is not set is left out. */
export function hostSettings(): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration('agentHost');
  const told: Record<string, unknown> = {};
  for (const key of KEYS) {
    const value: unknown = configuration.inspect(key)?.globalValue;
    if (!isEmpty(value)) told[key] = value;
  }
  // The editor has asked the person already; asking again for the same folder would be a second question.
  told['trust'] = vscode.workspace.isTrusted ? 'always' : 'never';
  return told;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}
