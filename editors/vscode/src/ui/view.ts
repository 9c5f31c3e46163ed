// The transcript's webview: a page under a strict content policy, kept in step with the shown session.

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { safeLink } from '../core/markdown.ts';
import { fromPage, type FromPage, type State, type ToPage } from '../core/protocol.ts';
import type { Step } from '../core/transcript.ts';
import type { Host } from '../host/host.ts';
import type { Change, Sessions } from '../host/sessions.ts';

/** Steps are sent together, at most so often. */
const FLUSH_MILLISECONDS = 16;

export interface PageActions {
  state(): State;
  handle(message: FromPage): Promise<void>;
}

export class TranscriptView implements vscode.WebviewViewProvider, vscode.Disposable {
  #extension: vscode.Uri;
  #sessions: Sessions;
  #actions: PageActions;
  #view: vscode.WebviewView | null = null;
  #ready = false;
  #steps: Step[] = [];
  #timer: NodeJS.Timeout | null = null;
  #stateChanged = false;
  #inserts: ToPage[] = [];
  #disposables: vscode.Disposable[];

  constructor(extension: vscode.Uri, sessions: Sessions, host: Host, actions: PageActions) {
    this.#extension = extension;
    this.#sessions = sessions;
    this.#actions = actions;
    this.#disposables = [sessions.onDidChange((change) => this.#take(change)), host.onDidChange(() => this.#take({ kind: 'state' }))];
  }

  get visible(): boolean {
    return this.#view?.visible ?? false;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.#view = view;
    this.#ready = false;
    view.webview.options = { enableScripts: true, enableForms: false, enableCommandUris: false, localResourceRoots: [vscode.Uri.joinPath(this.#extension, 'out')] };
    view.webview.html = this.#html(view.webview);
    view.webview.onDidReceiveMessage((value: unknown) => void this.#receive(value));
    view.onDidDispose(() => {
      if (this.#view === view) this.#view = null;
      this.#ready = false;
    });
  }

  /** Show the view with the keyboard in the prompt. */
  async focus(): Promise<void> {
    await vscode.commands.executeCommand('agentHost.transcript.focus');
    this.#send({ type: 'focus' });
  }

  /** Put text into the prompt. */
  async insert(text: string): Promise<void> {
    await vscode.commands.executeCommand('agentHost.transcript.focus');
    this.#send({ type: 'insert', text });
  }

  post(message: ToPage): void {
    if (this.#ready) void this.#view?.webview.postMessage(message);
  }

  dispose(): void {
    if (this.#timer) clearTimeout(this.#timer);
    for (const each of this.#disposables) each.dispose();
  }

  /** Now, or once the page is there. */
  #send(message: ToPage): void {
    if (this.#ready) this.post(message);
    else this.#inserts.push(message);
  }

  async #receive(value: unknown): Promise<void> {
    const message = fromPage(value);
    if (!message) return;
    if (message.type === 'ready') {
      this.#ready = true;
      this.#snapshot();
      for (const waiting of this.#inserts.splice(0)) this.post(waiting);
    } else if (message.type === 'link') {
      const href = safeLink(message.href);
      if (href) await vscode.env.openExternal(vscode.Uri.parse(href, true));
    } else await this.#actions.handle(message);
  }

  #take(change: Change): void {
    if (change.kind !== 'state' && change.session !== this.#sessions.current) return;
    if (change.kind === 'all') {
      this.#steps = [];
      this.#snapshot();
    } else if (change.kind === 'steps') this.#steps.push(...change.steps);
    else this.#stateChanged = true;
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MILLISECONDS);
  }

  #flush(): void {
    this.#timer = null;
    const steps = this.#steps;
    this.#steps = [];
    if (steps.length) this.post({ type: 'steps', session: this.#sessions.current.key, steps });
    if (this.#stateChanged) {
      this.post({ type: 'state', state: this.#actions.state() });
      this.#showAround();
    }
    this.#stateChanged = false;
  }

  /** What the editor itself shows of it: the session's title, and how many questions wait. */
  #showAround(): void {
    if (!this.#view) return;
    const { current, questions } = this.#sessions;
    this.#view.description = current.title;
    const waiting = questions.length;
    this.#view.badge = waiting ? { value: waiting, tooltip: `${waiting} ${waiting === 1 ? 'question' : 'questions'} of the agent` } : undefined;
  }

  #snapshot(): void {
    // What waits to be sent is in the transcript already.
    this.#steps = [];
    const { key, transcript } = this.#sessions.current;
    this.post({ type: 'snapshot', session: key, items: transcript.items, runs: transcript.runs, state: this.#actions.state() });
    this.#showAround();
  }

  #html(webview: vscode.Webview): string {
    const nonce = randomBytes(18).toString('base64url');
    const out = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(this.#extension, 'out', name)).toString();
    const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource}; font-src ${webview.cspSource}; base-uri 'none'; form-action 'none'`;
    return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${out('page.css')}">
<title>Agent</title>
</head>
<body>
<script nonce="${nonce}" src="${out('page.js')}"></script>
</body>
</html>`;
  }
}
