// The instructions, skills and prompt files that count here, as a list that opens them; what is wrong with some comes first.

import * as vscode from 'vscode';
import type { Host } from '../host/host.ts';

type Row = vscode.QuickPickItem & { source?: string; line?: number };

export async function pickGuidance(host: Host): Promise<void> {
  const [{ instructions, skills, problems }, { prompts, problems: more }] = await Promise.all([host.request('agent/guidance', {}), host.request('agent/prompts', {})]);
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
  ];
  const row = await vscode.window.showQuickPick(rows, { title: 'Instructions, skills and prompts', matchOnDetail: true, placeHolder: 'Choose one to open it' });
  if (!row?.source) return;
  const at = new vscode.Position((row.line ?? 1) - 1, 0);
  await vscode.window.showTextDocument(vscode.Uri.file(row.source), { selection: new vscode.Range(at, at) });
}

function short(path: string): string {
  return vscode.workspace.asRelativePath(vscode.Uri.file(path));
}
