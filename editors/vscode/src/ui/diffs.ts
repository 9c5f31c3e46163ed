// The native diff editor for what is proposed or was done: the text before and after, as documents that can't be changed.

import * as vscode from 'vscode';
import { filesOf, patched, reversed, type FileDiff } from '../core/diff.ts';
import type { ChangesItem } from '../core/transcript.ts';
import { find } from '../host/prompt.ts';
import type { Session } from '../host/session.ts';

const SCHEME = 'agent-host-diff';
const MOST = 40;

export class Diffs implements vscode.TextDocumentContentProvider, vscode.Disposable {
  #texts = new Map<string, string>();
  #registration: vscode.Disposable;
  #count = 0;

  constructor() {
    this.#registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? 'This diff is not kept any more.';
  }

  /** Open the diff of a call's edit of a file (its first, if no file is named). */
  async open(session: Session, runId: string, callId: string, uri: string): Promise<void> {
    const item = session.transcript.tool(runId, callId);
    const edit = item?.edits.find((each) => each.uri === uri) ?? item?.edits[0];
    const diff = item?.question?.open ? (item.question.diff ?? edit?.diff) : edit?.diff;
    if (!diff) return void vscode.window.showInformationMessage('There is no diff to show.');
    const target = edit ? vscode.Uri.parse(edit.uri, true) : undefined;
    const now = target ? await textOf(target) : '';
    const proposed = edit?.state !== 'applied';
    const [before, after] = proposed ? [now, patched(now, diff)] : [patched(now, reversed(diff)), now];
    if (before === null || after === null) return this.#plainly(diff);
    const path = target?.path ?? '/file';
    const title = `${path.split('/').at(-1) ?? ''} (${proposed ? 'proposed' : 'done'})`;
    await vscode.commands.executeCommand('vscode.diff', this.#keep(path, before), this.#keep(path, after), title, { preview: true, preserveFocus: false });
  }

  /** Open what a run changed in the file that its diff calls so, or in all files. What can be, is the file itself. */
  async openRun(session: Session, runId: string, name: string): Promise<void> {
    const item = session.transcript.items.findLast((each) => each.kind === 'changes' && each.runId === runId);
    if (item?.kind !== 'changes') return void vscode.window.showInformationMessage('There is no diff to show.');
    const files = filesOf(item.text).filter((file) => !name || file.name === name);
    const sides = await Promise.all(files.map((file) => this.#sides(item, file)));
    const [only] = sides;
    // One that has changed since: the diff itself is all there is to show.
    if (sides.some((each) => each === null) || !only) return this.#plainly(files.map(({ diff }) => diff).join(''));
    if (sides.length === 1) return void (await vscode.commands.executeCommand('vscode.diff', only.before, only.after, `${files[0]?.name.split('/').at(-1) ?? ''} (this run)`, { preview: true }));
    await vscode.commands.executeCommand('vscode.changes', 'Changes of the run', sides.map((each) => [each?.target, each?.before, each?.after]));
  }

  async #sides(item: ChangesItem, { name, kind, diff }: FileDiff): Promise<{ target: vscode.Uri; before: vscode.Uri; after: vscode.Uri } | null> {
    const edited = item.edits.map((uri) => vscode.Uri.parse(uri, true)).filter(({ path }) => path.endsWith(`/${name.replace(/^\//, '')}`));
    const target = edited.length === 1 ? edited[0] : await find(name);
    if (!target) return null;
    const now = kind === 'delete' ? '' : await textOf(target);
    const before = patched(now, reversed(diff));
    if (before === null) return null;
    return { target, before: this.#keep(target.path, kind === 'create' ? '' : before), after: kind === 'delete' ? this.#keep(target.path, '') : target };
  }

  dispose(): void {
    this.#registration.dispose();
  }

  /** The file has changed since: the diff itself is all there is to show. */
  async #plainly(diff: string): Promise<void> {
    await vscode.window.showTextDocument(this.#keep('/changes.diff', diff), { preview: true });
  }

  #keep(path: string, text: string): vscode.Uri {
    this.#count += 1;
    const uri = vscode.Uri.from({ scheme: SCHEME, path, query: String(this.#count) });
    this.#texts.set(uri.toString(), text);
    for (const oldest of this.#texts.keys()) {
      if (this.#texts.size <= MOST) break;
      this.#texts.delete(oldest);
    }
    return uri;
  }
}

async function textOf(uri: vscode.Uri): Promise<string> {
  const open = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
  if (open) return open.getText();
  return vscode.workspace.fs.readFile(uri).then((bytes) => new TextDecoder().decode(bytes), () => '');
}
