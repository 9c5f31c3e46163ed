// What the person can do, by command, key, menu or in the page; each says what went wrong in the host's words.

import * as vscode from 'vscode';
import { written } from '../core/mentions.ts';
import type { Attachment, FromPage, State } from '../core/protocol.ts';
import type { SessionWire } from '../wire.ts';
import type { Facts } from '../host/facts.ts';
import { Refusal, oneLine, type Host } from '../host/host.ts';
import type { Keys } from '../host/keys.ts';
import { prepare, selectedLines } from '../host/prompt.ts';
import type { Server } from '../host/server.ts';
import type { Session } from '../host/session.ts';
import type { Sessions } from '../host/sessions.ts';
import { OWN_COMMANDS, suggestions } from '../host/suggest.ts';
import type { Diffs } from './diffs.ts';
import { pickGuidance } from './guidance.ts';
import { pickModel, pickRole, pickSession } from './pickers.ts';
import type { Questions } from './questions.ts';
import { ago, type SessionTree } from './tree.ts';
import type { TranscriptView } from './view.ts';

export interface Parts { host: Host; sessions: Sessions; keys: Keys; server: Server; diffs: Diffs; facts: Facts; log: vscode.LogOutputChannel }

type TreeNode = { kind: 'session'; session: SessionWire };

export class Commands {
  #parts: Parts;
  #view!: TranscriptView;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Register all of them. */
  register(view: TranscriptView, tree: SessionTree, questions: Questions): vscode.Disposable[] {
    this.#view = view;
    const { sessions, host, log } = this.#parts;
    const all: Record<string, (...args: never[]) => unknown> = {
      focus: () => view.focus(),
      newSession: () => { sessions.fresh(); return view.focus(); },
      stop: () => this.#stop(),
      history: () => this.#history(),
      openSession: (node: TreeNode) => this.#open(node.session),
      forkSession: (node: TreeNode) => this.#fork(node.session.sessionId),
      renameSession: (node?: TreeNode) => this.#rename(node),
      deleteSession: (node?: TreeNode) => this.#delete(node),
      revertRun: (node?: TreeNode) => this.#revertLast(node),
      refreshSessions: () => tree.refresh(),
      allow: () => questions.answer('allowOnce'),
      deny: () => questions.answer('deny'),
      showDiff: () => this.#showDiff(),
      addSelection: () => this.#addSelection(),
      addFile: (uri?: vscode.Uri, uris?: vscode.Uri[]) => this.#addFiles(uris?.length ? uris : uri ? [uri] : []),
      addProblems: () => view.insert('@problems'),
      pickModel: () => this.#pick('model'),
      pickRole: () => this.#pick('role'),
      setKey: () => this.#key('set'),
      removeKey: () => this.#key('remove'),
      installServer: () => this.#install(),
      restart: () => host.restart(),
      showLog: () => log.show(),
      compact: () => this.#compact(),
      guidance: () => pickGuidance(host),
      useDemo: () => { sessions.current.model = 'scripted/demo'; sessions.touch(); return view.focus(); },
      serverSettings: () => vscode.commands.executeCommand('workbench.action.openSettings', 'agentHost.server'),
      manageTrust: () => vscode.commands.executeCommand('workbench.trust.manage'),
    };
    return Object.entries(all).map(([name, act]) => vscode.commands.registerCommand(`agent-host.${name}`, (...args: never[]) => this.#told(() => act(...args))));
  }

  /** What the page shows around the transcript. */
  state(): State {
    const { host, sessions, facts } = this.#parts;
    const { title, running, elsewhere, stopping, pending, runId, transcript, ...chosen } = sessions.current;
    const settings = vscode.workspace.getConfiguration('agentHost');
    const run = runId ? transcript.runs[runId] : Object.values(transcript.runs).at(-1);
    const model = chosen.model || run?.model || settings.get<string>('model') || '';
    const { contextTokens, contextWindow } = Object.values(transcript.runs).findLast(({ usage }) => usage?.contextTokens)?.usage ?? {};
    const active = vscode.window.activeTextEditor?.document.uri;
    return {
      title, running, elsewhere: elsewhere !== undefined, stopping, pending, model, connection: host.connection,
      role: chosen.role || run?.role || settings.get<string>('role') || 'coder',
      trusted: vscode.workspace.isTrusted,
      folders: (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath),
      foldTools: settings.get<boolean>('view.foldTools') ?? true,
      context: contextTokens && contextWindow ? { tokens: contextTokens, window: contextWindow } : null,
      modelProblem: facts.modelProblem(model),
      recent: facts.recent.map(({ sessionId, title: name, updated }) => ({ sessionId, title: name || 'Untitled', when: ago(updated) })),
      guidance: facts.guidance && { instructions: facts.guidance.instructions.length, skills: facts.guidance.skills.length, prompts: facts.prompts.filter(({ source }) => source).length, problems: facts.guidance.problems.length },
      file: active?.scheme === 'file' ? written(vscode.workspace.asRelativePath(active)) : '',
    };
  }

  /** Do what the page asks for. */
  async handle(message: FromPage): Promise<void> {
    await this.#told(() => this.#handle(message));
  }

  async #handle(message: FromPage): Promise<unknown> {
    const { sessions, diffs } = this.#parts;
    switch (message.type) {
      case 'send':
        return this.#send(message.text, message.when, message.attached);
      case 'drop':
        return this.#addFiles(message.uris.map((uri) => vscode.Uri.parse(uri)).filter((uri) => uri.scheme === 'file' || vscode.workspace.getWorkspaceFolder(uri)));
      case 'stop':
        return this.#stop();
      case 'answer': {
        const open = sessions.questions.find(({ question: { ask } }) => ask.runId === message.runId && ask.callId === message.callId);
        open?.question.settle({ optionId: message.optionId, ...(message.reason ? { reason: message.reason } : {}), ...(message.accepted ? { accepted: message.accepted } : {}) });
        return vscode.commands.executeCommand('setContext', 'agentHost.hasAnswered', true);
      }
      case 'diff':
        return diffs.open(sessions.current, message.runId, message.callId, message.uri);
      case 'file':
        return vscode.window.showTextDocument(vscode.Uri.parse(message.uri, true), { preview: true });
      case 'copy':
        return vscode.env.clipboard.writeText(message.text);
      case 'suggest':
        return this.#view.post({ type: 'suggestions', id: message.id, found: await suggestions(this.#parts.facts, message.trigger, message.query) });
      case 'unqueue':
        return sessions.unqueue(message.id);
      case 'fork':
        return this.#fork(sessions.current.id, message.runId);
      case 'again':
        return this.#again(message.runId);
      case 'open':
        return this.#open({ sessionId: message.id, title: '' });
      case 'revert':
        return this.#revert(message.runId, sessions.current, message.uris);
      case 'changes':
        return diffs.openRun(sessions.current, message.runId, message.name);
      case 'command':
        return vscode.commands.executeCommand(`agent-host.${message.command}`);
      default:
        return undefined;
    }
  }

  // ---- runs

  async #send(text: string, when: 'now' | 'next', attached: readonly Attachment[] = []): Promise<void> {
    const own = /^\/(\w+)$/.exec(text)?.[1];
    if (own && own in OWN_COMMANDS) {
      const command = { new: 'newSession', history: 'history', model: 'pickModel', role: 'pickRole', stop: 'stop' }[own];
      return void (await vscode.commands.executeCommand(`agent-host.${command ?? own}`));
    }
    const { sessions } = this.#parts;
    const { unknown, ...prepared } = await prepare(text, attached);
    const begins = !sessions.current.running;
    const sent = sessions.send(text, prepared, when);
    if (attached.length) this.#noteAttached(attached, begins);
    if (unknown.length) sessions.note(sessions.current, `Not found, so it was sent as text only: ${unknown.join(', ')}`);
    try {
      await sent;
    } catch (error) {
      await this.#view.insert(text); // nothing that was written is lost
      throw error;
    }
  }

  #noteAttached(attached: readonly Attachment[], begins: boolean): void {
    const { current } = this.#parts.sessions;
    if (begins && current.runId) current.attached.set(current.runId, attached);
    this.#parts.sessions.note(current, `Attached: ${attached.map(({ name }) => name).join(', ')}`);
  }

  async #again(runId: string): Promise<void> {
    const prompt = this.#parts.sessions.promptOf(runId);
    if (prompt === null) throw new Refusal({ error: 'The prompt of that run is not known any more; write it again.', code: 'run_not_found' });
    await this.#send(prompt, 'now', this.#parts.sessions.current.attached.get(runId));
  }

  async #compact(): Promise<void> {
    const { sessions } = this.#parts;
    if (!sessions.current.id) return void vscode.window.showInformationMessage('There is nothing to compact yet.');
    await this.#send('/compact', sessions.current.running ? 'next' : 'now');
  }

  async #stop(): Promise<void> {
    const { sessions } = this.#parts;
    const running = sessions.current.running ? [sessions.current] : sessions.running;
    await Promise.all(running.map((session) => sessions.stop(session)));
  }

  async #showDiff(): Promise<void> {
    const { sessions, diffs } = this.#parts;
    const open = sessions.questions.at(-1);
    if (open) await diffs.open(open.session, open.question.ask.runId, open.question.ask.callId, '');
  }

  // ---- sessions

  async #history(): Promise<void> {
    const session = await pickSession(this.#parts.host);
    if (session) await this.#open(session);
  }

  async #open({ sessionId, title }: Pick<SessionWire, 'sessionId' | 'title'>): Promise<void> {
    await this.#parts.sessions.open(sessionId, title);
    await this.#view.focus();
  }

  async #fork(sessionId: string | undefined, runId?: string): Promise<void> {
    if (!sessionId) return;
    const { host, sessions } = this.#parts;
    const { sessionId: forked } = await host.request('agent/session/fork', { sessionId, ...(runId ? { runId } : {}) });
    sessions.listChanged();
    await sessions.open(forked, '');
    await this.#view.focus();
  }

  async #rename(node?: TreeNode): Promise<void> {
    const { host, sessions } = this.#parts;
    const sessionId = node?.session.sessionId ?? sessions.current.id;
    if (!sessionId) return;
    const title = await vscode.window.showInputBox({ title: 'New title of the session', value: node?.session.title ?? sessions.current.title });
    if (!title) return;
    await host.request('agent/session/rename', { sessionId, title });
    const open = sessions.byId(sessionId);
    if (open) open.title = title;
    sessions.listChanged();
  }

  async #delete(node?: TreeNode): Promise<void> {
    const { host, sessions } = this.#parts;
    const sessionId = node?.session.sessionId ?? sessions.current.id;
    if (!sessionId) return;
    const title = node?.session.title ?? sessions.current.title;
    const sure = await vscode.window.showWarningMessage(`Delete the session "${title}"? Its transcript is gone then; files are not touched.`, { modal: true }, 'Delete');
    if (!sure) return;
    await host.request('agent/session/delete', { sessionId });
    sessions.forgotten(sessionId);
  }

  async #revertLast(node?: TreeNode): Promise<void> {
    const { host, sessions } = this.#parts;
    const sessionId = node?.session.sessionId ?? sessions.current.id;
    if (!sessionId) return;
    const session = sessions.byId(sessionId);
    const page = session?.loaded ? null : await host.request('agent/session/load', { sessionId, limit: 1000 });
    const runId = page ? page.runs.at(-1)?.runId : Object.keys(session?.transcript.runs ?? {}).at(-1);
    if (!runId) return void vscode.window.showInformationMessage('This session has no run that could be reverted.');
    await this.#revert(runId, session ?? sessions.current);
  }

  async #revert(runId: string, session: Session, uris: string[] = []): Promise<void> {
    const { files } = await this.#parts.host.request('agent/session/revert', { runId, ...(uris.length ? { uris } : {}) });
    const names = (status: string): string => files.filter((each) => each.status === status).map(({ uri, reason }) => `${vscode.workspace.asRelativePath(vscode.Uri.parse(uri))}${reason ? ` (${reason})` : ''}`).join(', ');
    const reverted = names('reverted');
    const left = [names('skipped'), names('failed')].filter(Boolean).join(', ');
    const said = [reverted ? `Reverted: ${reverted}.` : 'Nothing was reverted.', left ? `Left alone: ${left}.` : ''].filter(Boolean).join(' ');
    this.#parts.sessions.note(session, said);
    if (left) void vscode.window.showWarningMessage(said);
  }

  // ---- the prompt

  async #addSelection(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    const { scheme } = editor.document.uri;
    const named = scheme === 'file' ? written(vscode.workspace.asRelativePath(editor.document.uri), selectedLines(editor)) : '@selection';
    await this.#view.insert(named);
  }

  async #addFiles(uris: vscode.Uri[]): Promise<void> {
    if (uris.length) await this.#view.insert(uris.map((uri) => written(vscode.workspace.asRelativePath(uri))).join(' '));
  }

  // ---- the host

  async #pick(what: 'model' | 'role'): Promise<void> {
    const { host, sessions } = this.#parts;
    const current = this.state()[what];
    const chosen = await (what === 'model' ? pickModel(host, current) : pickRole(host, current));
    if (chosen === undefined) return;
    sessions.current[what] = chosen;
    sessions.touch();
  }

  async #key(what: 'set' | 'remove'): Promise<void> {
    const { host, keys, sessions } = this.#parts;
    if (!(await keys[what]())) return;
    if (sessions.running.length) {
      const now = await vscode.window.showWarningMessage('The key counts once the server has restarted. A run is going on and would be stopped.', 'Restart now', 'Later');
      if (now !== 'Restart now') return;
    }
    await host.restart();
  }

  async #install(): Promise<void> {
    const { host, server } = this.#parts;
    await host.stop();
    try {
      await server.install();
      void vscode.window.showInformationMessage('The server is installed.');
    } finally {
      await host.start();
    }
  }

  /** Do something; what goes wrong is told, never lost. */
  async #told(act: () => unknown): Promise<unknown> {
    try {
      return await act();
    } catch (error) {
      const said = error instanceof Refusal ? error.failure.error : oneLine(error);
      this.#parts.log.error(said);
      void vscode.window.showErrorMessage(said);
      return undefined;
    }
  }
}
