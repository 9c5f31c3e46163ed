// One item in the status bar: what goes on, and the way to it. Keeps the `when` keys of commands in step, too.

import * as vscode from 'vscode';
import type { Host } from '../host/host.ts';
import type { Sessions } from '../host/sessions.ts';

export class Status implements vscode.Disposable {
  #item = vscode.window.createStatusBarItem('agentHost.status', vscode.StatusBarAlignment.Left, 0);
  #host: Host;
  #sessions: Sessions;
  #keys: Record<string, boolean> = {};
  #disposables: vscode.Disposable[];

  constructor(host: Host, sessions: Sessions) {
    this.#host = host;
    this.#sessions = sessions;
    this.#item.name = 'Agent';
    this.#item.command = 'agent-host.focus';
    this.#disposables = [this.#item, host.onDidChange(() => this.#show()), sessions.onDidChange(({ kind }) => kind === 'state' && this.#show())];
    this.#show();
    this.#item.show();
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }

  #show(): void {
    const { status, text } = this.#host.connection;
    const running = this.#sessions.running.length;
    const questions = this.#sessions.questions;
    this.#key('agentHost.running', running > 0);
    this.#key('agentHost.asking', questions.length > 0);
    this.#key('agentHost.ready', status === 'ready');
    if (running) this.#key('agentHost.hasRun', true);
    const [label, tooltip, warns] = status === 'missing' || status === 'failed'
      ? ['$(warning) Agent', text, true]
      : questions.length
        ? ['$(question) Agent asks', questions.at(-1)?.question.ask.title ?? '', true]
        : running
          ? [`$(sync~spin) Agent${running > 1 ? ` (${running})` : ''}`, 'The agent is working', false]
          : ['$(comment-discussion) Agent', status === 'ready' ? 'Write a prompt' : text, false];
    this.#item.text = label;
    this.#item.tooltip = tooltip;
    this.#item.backgroundColor = warns ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    this.#item.accessibilityInformation = { label: `${label.replace(/\$\(.*?\) /, '')}: ${tooltip}` };
  }

  #key(name: string, value: boolean): void {
    if (this.#keys[name] === value) return;
    this.#keys[name] = value;
    void vscode.commands.executeCommand('setContext', name, value);
  }
}
