// Where everything meets: makes the parts, hands them to each other, and starts the host.

import * as vscode from 'vscode';
import { Facts } from './host/facts.ts';
import { Host } from './host/host.ts';
import { Keys } from './host/keys.ts';
import { prepare } from './host/prompt.ts';
import { Server } from './host/server.ts';
import { Sessions } from './host/sessions.ts';
import { suggestions } from './host/suggest.ts';
import { Commands } from './ui/commands.ts';
import { Diffs } from './ui/diffs.ts';
import { Questions } from './ui/questions.ts';
import { Status } from './ui/status.ts';
import { SessionTree } from './ui/tree.ts';
import { TranscriptView } from './ui/view.ts';

/** What a test may look at and drive; not for other extensions. */
export interface Api { host: Host; sessions: Sessions; keys: Keys; server: Server; facts: Facts; commands: Commands; tree: SessionTree; prepare: typeof prepare; suggestions: typeof suggestions }

let host: Host | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<Api> {
  const keys = new Keys(context.secrets);
  const log = redacting(vscode.window.createOutputChannel('Agent Host', { log: true }), keys);
  const server = new Server(context, log);
  const sessions = new Sessions();
  host = new Host(server, keys, log, sessions);
  sessions.connect(host);
  const diffs = new Diffs();
  const facts = new Facts(host, sessions);
  const commands = new Commands({ host, sessions, keys, server, diffs, facts, log });
  const view = new TranscriptView(context.extensionUri, sessions, host, commands);
  const tree = new SessionTree(host, sessions);
  const questions = new Questions(sessions, view);
  const running = host;
  /** The host is told what is another now, and asked what counts by it. */
  const told = async (): Promise<void> => {
    sessions.touch();
    if (await running.settingsChanged()) await facts.refresh();
  };
  context.subscriptions.push(
    log, sessions, diffs, facts, view, tree, questions, new Status(host, sessions),
    ...commands.register(view, tree, questions),
    vscode.window.registerWebviewViewProvider('agentHost.transcript', view),
    facts.onDidChange(() => sessions.touch()),
    vscode.window.onDidChangeActiveTextEditor(() => sessions.touch()),
    sessions.onDidHandBack((text) => void view.insert(text)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void told()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('agentHost.server.path') || event.affectsConfiguration('agentHost.server.args') || event.affectsConfiguration('agentHost.server.env')) void running.restart();
      else if (event.affectsConfiguration('agentHost')) void told();
    }),
  );
  void host.start();
  return { host, sessions, keys, server, facts, commands, tree, prepare, suggestions };
}

export function deactivate(): Thenable<void> | undefined {
  return host?.stop();
}

/** The log, in which no key can stand, whoever writes to it (the client's own tracing does). */
function redacting(channel: vscode.LogOutputChannel, keys: Keys): vscode.LogOutputChannel {
  const writes = new Set<string | symbol>(['append', 'appendLine', 'replace', 'trace', 'debug', 'info', 'warn', 'error']);
  return new Proxy(channel, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const bound = value.bind(target) as (...args: unknown[]) => unknown;
      if (!writes.has(name)) return bound;
      return (...args: unknown[]) => bound(...args.map((each) => (typeof each === 'string' ? keys.redacted(each) : each)));
    },
  });
}
