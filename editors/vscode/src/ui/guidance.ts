// What counts here beside the session: instructions, skills, prompt files and MCP servers, as a list that opens the files;
// what is wrong with some comes first.

import * as vscode from 'vscode';
import type { McpServerWire } from '../wire.ts';
import type { Host } from '../host/host.ts';

type Row = vscode.QuickPickItem & { source?: string; line?: number };

export async function pickGuidance(host: Host): Promise<void> {
  const [{ instructions, skills, problems }, { prompts, problems: more }, { mcpServers }] = await Promise.all([host.request('agent/guidance', {}), host.request('agent/prompts', {}), host.request('agent/status', {})]);
  const separator = (label: string): Row => ({ label, kind: vscode.QuickPickItemKind.Separator });
  const seen = new Set<string>();
  const bad = [...problems, ...more].filter(({ source, line, reason }) => !seen.has(`${source}:${line}:${reason}`) && seen.add(`${source}:${line}:${reason}`));
  const rows: Row[] = [
    ...(bad.length ? [separator('Problems')] : []),
    ...bad.map(({ severity, name, line, reason, source }): Row => ({ label: `$(${severity}) ${name}`, description: `line ${line}`, detail: reason, source, line })),
    separator('Instructions'),
    ...instructions.map(({ source, folder, omitted }): Row => ({ label: `$(book) ${short(source)}`, description: folder ? '' : 'your own', ...(omitted ? { detail: `${omitted} bytes of it are not used` } : {}), source })),
    separator('Skills'),
    ...skills.map(({ name, description, source }): Row => ({ label: `$(mortar-board) ${name}`, detail: description, source })),
    separator('Prompts'),
    ...prompts.map(({ name, description, argumentHint, source }): Row => ({ label: `$(comment) /${name}`, description: argumentHint ?? '', detail: description, ...(source ? { source } : {}) })),
    ...(mcpServers?.length ? [separator('MCP servers'), ...mcpServers.map(mcpRow)] : []),
  ];
  const row = await vscode.window.showQuickPick(rows, { title: 'Instructions, skills, prompts and MCP servers', matchOnDetail: true, placeHolder: 'Choose one to open it' });
  if (!row?.source) return;
  const at = new vscode.Position((row.line ?? 1) - 1, 0);
  await vscode.window.showTextDocument(vscode.Uri.file(row.source), { selection: new vscode.Range(at, at) });
}

const LOOKS: Record<McpServerWire['state'], string> = {
  idle: 'circle-outline', starting: 'sync~spin', ready: 'check', failed: 'error', stopped: 'debug-stop', disabled: 'circle-slash', ignored: 'circle-slash',
};

function mcpRow({ name, state, how, tools, reason, remedy, notes }: McpServerWire): Row {
  const said = [reason, remedy, ...notes].filter(Boolean).join(' ');
  return { label: `$(${LOOKS[state]}) ${name}`, description: [state, tools.length ? `${tools.length} tools` : ''].filter(Boolean).join(' · '), detail: said || how };
}

function short(path: string): string {
  return vscode.workspace.asRelativePath(vscode.Uri.file(path));
}
