// The lists to choose from: models, roles, kept sessions.

import * as vscode from 'vscode';
import type { ModelWire, SessionWire } from '../wire.ts';
import type { Host } from '../host/host.ts';
import { VENDORS } from '../host/keys.ts';
import { ago, stateOf } from './tree.ts';

const DEMO = 'scripted/demo';

/** A model's name; undefined: none was chosen, "": the default. */
export async function pickModel(host: Host, current: string): Promise<string | undefined> {
  const { models } = await host.request('agent/models', {});
  type Row = vscode.QuickPickItem & { model?: ModelWire; name?: string; other?: true; none?: true };
  const rowOf = (model: ModelWire): Row => ({
    label: `${model.usable ? '$(check)' : '$(circle-slash)'} ${model.name}`,
    description: model.name === current ? 'chosen' : '',
    detail: model.usable ? `key from ${model.source ?? 'nowhere'}` : (model.reason ?? ''),
    model,
  });
  const unusable = models.filter(({ usable }) => !usable);
  const rows: Row[] = [
    ...models.filter(({ usable }) => usable).map(rowOf),
    { label: '$(play) scripted/demo', description: current === DEMO ? 'chosen' : '', detail: 'plays a script, to try what the agent does without a key', name: DEMO },
    { label: '$(edit) Another model…', detail: 'any name of these vendors', other: true },
    { label: '$(discard) What the settings say', none: true },
    ...(unusable.length ? [{ label: 'Not set up', kind: vscode.QuickPickItemKind.Separator }, ...unusable.map(rowOf)] : []),
  ];
  const row = await vscode.window.showQuickPick(rows, { title: 'Model for this session', matchOnDetail: true });
  if (!row) return undefined;
  if (row.none) return '';
  if (row.name) return row.name;
  if (row.other) {
    return vscode.window.showInputBox({ title: 'Model', value: current, prompt: 'vendor/name', validateInput: (text) => (/^[^\s/]+\/\S+$/.test(text) ? undefined : 'Write it as vendor/name.') });
  }
  if (!row.model?.usable) {
    const takesKey = VENDORS.some((vendor) => vendor === row.model?.provider) && row.model?.name !== 'local/embedded';
    const chosen = await vscode.window.showWarningMessage(`${row.model?.name ?? ''} can't be used yet. ${row.model?.reason ?? ''}`, ...(takesKey ? ['Set a key…'] : []));
    if (chosen) await vscode.commands.executeCommand('agent-host.setKey');
    return undefined;
  }
  return row.model.name;
}

/** A role's name; undefined: none was chosen, "": the default. */
export async function pickRole(host: Host, current: string): Promise<string | undefined> {
  const { roles, problems } = await host.request('agent/roles', {});
  type Row = vscode.QuickPickItem & { role?: string; source?: string; line?: number };
  const rows: Row[] = roles.map(({ name, description, model, source }) => ({ label: name, description: [name === current ? 'chosen' : '', model ?? ''].filter(Boolean).join(' · '), detail: description, role: name, source }));
  rows.push({ label: 'What the settings say', role: '' });
  if (problems.length) rows.push({ label: 'Broken', kind: vscode.QuickPickItemKind.Separator });
  for (const { name, reason, line, source } of problems) rows.push({ label: `$(error) ${name}`, detail: `line ${line}: ${reason}`, source, line });
  const row = await vscode.window.showQuickPick(rows, { title: 'Role for this session', matchOnDetail: true });
  if (!row || row.role !== undefined) return row?.role;
  if (row.source) await vscode.window.showTextDocument(vscode.Uri.file(row.source), { selection: new vscode.Range((row.line ?? 1) - 1, 0, (row.line ?? 1) - 1, 0) });
  return undefined;
}

/** A kept session, found by the words of its title and prompts. */
export function pickSession(host: Host): Promise<SessionWire | undefined> {
  type Row = vscode.QuickPickItem & { session: SessionWire };
  const pick = vscode.window.createQuickPick<Row>();
  pick.title = 'Kept sessions';
  pick.placeholder = 'Words of its title or of a prompt';
  let asked = 0;
  const read = async (text: string): Promise<void> => {
    const mine = ++asked;
    pick.busy = true;
    const { sessions } = await host.request('agent/session/list', { text }).catch(() => ({ sessions: [] }));
    if (mine !== asked) return;
    pick.busy = false;
    pick.items = sessions.map((session) => ({ label: session.title || 'Untitled', description: ago(session.updated), detail: [session.role, session.model, stateOf(session, false)].filter(Boolean).join(' · '), alwaysShow: true, session }));
  };
  return new Promise((resolve) => {
    pick.onDidChangeValue((text) => void read(text));
    pick.onDidAccept(() => { resolve(pick.selectedItems[0]?.session); pick.hide(); });
    pick.onDidHide(() => { resolve(undefined); pick.dispose(); });
    pick.show();
    void read('');
  });
}
