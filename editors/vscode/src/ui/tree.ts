// The kept sessions of the workspace, newest first, page by page, as a native tree.

import * as vscode from 'vscode';
import type { SessionWire } from '../wire.ts';
import type { Host } from '../host/host.ts';
import type { Sessions } from '../host/sessions.ts';

/** What other windows run is looked at so often, while it is in sight. */
const LOOK_MILLISECONDS = 3000;

type Node = { kind: 'session'; session: SessionWire } | { kind: 'more'; cursor: string };

export class SessionTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  #host: Host;
  #sessions: Sessions;
  #known: SessionWire[] = [];
  #cursor: string | undefined;
  #changed = new vscode.EventEmitter<void>();
  #view: vscode.TreeView<Node>;
  #look: NodeJS.Timeout | undefined;
  #disposables: vscode.Disposable[];
  readonly onDidChangeTreeData = this.#changed.event;

  constructor(host: Host, sessions: Sessions) {
    this.#host = host;
    this.#sessions = sessions;
    this.#view = vscode.window.createTreeView('agentHost.sessions', { treeDataProvider: this });
    this.#disposables = [
      this.#view,
      // Other windows tell nothing of what they begin.
      this.#view.onDidChangeVisibility(({ visible }) => visible && this.refresh()),
      vscode.window.onDidChangeWindowState(({ focused }) => focused && this.#view.visible && this.refresh()),
      sessions.onDidChangeList(() => this.refresh()),
      host.onDidChange(({ status }) => status === 'ready' && this.refresh()),
      vscode.commands.registerCommand('agent-host.moreSessions', (cursor: string) => this.#more(cursor)),
    ];
  }

  refresh(): void {
    this.#known = [];
    this.#cursor = undefined;
    this.#changed.fire();
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node || this.#host.connection.status !== 'ready') return [];
    if (!this.#known.length) await this.#page();
    this.#lookAgain();
    const sessions = this.#known.map((session): Node => ({ kind: 'session', session }));
    return this.#cursor ? [...sessions, { kind: 'more', cursor: this.#cursor }] : sessions;
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if (node.kind === 'more') {
      const item = new vscode.TreeItem('Show more…');
      item.command = { command: 'agent-host.moreSessions', title: 'Show more', arguments: [node.cursor] };
      return item;
    }
    const { session } = node;
    const running = this.#sessions.byId(session.sessionId)?.running ?? false;
    const item = new vscode.TreeItem(session.title || 'Untitled');
    item.id = session.sessionId;
    item.description = [stateOf(session, running), ago(session.updated)].filter(Boolean).join(' · ');
    item.tooltip = `${session.title}\n${session.role} · ${session.model}\n${session.runs} run${session.runs === 1 ? '' : 's'}${session.parentSessionId ? ', a fork' : ''}`;
    item.iconPath = new vscode.ThemeIcon(icon(session, running));
    item.contextValue = 'session';
    item.command = { command: 'agent-host.openSession', title: 'Open', arguments: [node] };
    item.accessibilityInformation = { label: `${session.title}, ${item.description}` };
    return item;
  }

  dispose(): void {
    clearTimeout(this.#look);
    for (const each of [...this.#disposables, this.#changed]) each.dispose();
  }

  /** Once more later, while something runs in another window. */
  #lookAgain(): void {
    clearTimeout(this.#look);
    if (this.#known.some(({ elsewhere }) => elsewhere)) this.#look = setTimeout(() => this.#view.visible && this.refresh(), LOOK_MILLISECONDS);
  }

  async #more(cursor: string): Promise<void> {
    await this.#page(cursor);
    this.#changed.fire();
  }

  async #page(cursor?: string): Promise<void> {
    const page = await this.#host.request('agent/session/list', cursor ? { cursor } : {}).catch(() => ({ sessions: [], cursor: undefined }));
    this.#known = cursor ? [...this.#known, ...page.sessions] : page.sessions;
    this.#cursor = page.cursor ?? undefined;
  }
}

function icon({ status, elsewhere, parentSessionId }: SessionWire, running: boolean): string {
  if (running) return 'sync~spin';
  if (elsewhere) return 'link-external';
  if (status === 'failed' || status === 'refused') return 'error';
  if (status === 'interrupted' || status === 'stopped' || status === 'limit') return 'debug-stop';
  return parentSessionId ? 'repo-forked' : 'comment-discussion';
}

/** A session's state in words, "" where there is nothing to say. */
export function stateOf({ status, elsewhere }: Pick<SessionWire, 'status' | 'elsewhere'>, runsHere: boolean): string {
  if (runsHere) return 'running';
  if (elsewhere) return 'runs in another window';
  return status === 'completed' || !status ? '' : status;
}

export function ago(seconds: number): string {
  const minutes = Math.max(0, Math.round((Date.now() / 1000 - seconds) / 60));
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 60 * 24) return `${Math.round(minutes / 60)} h`;
  return minutes < 60 * 24 * 14 ? `${Math.round(minutes / 60 / 24)} d` : new Date(seconds * 1000).toLocaleDateString();
}
