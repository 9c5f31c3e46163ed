// What of the settings is the host's, as it stands in this editor now.

import * as vscode from 'vscode';
import { personal } from '../core/settings.ts';

/** The person's own settings as the host reads them. */
export function hostSettings(): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration('agentHost');
  return personal((key) => configuration.inspect(key), vscode.workspace.isTrusted);
}
