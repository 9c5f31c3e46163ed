// The host's process behind vscode-languageclient: its start, its end, its requests, all typed by the schema.

import * as vscode from 'vscode';
import {
  LanguageClient, ResponseError, State, type FeatureState, type LanguageClientOptions, type ServerOptions, type StaticFeature,
} from 'vscode-languageclient/node';
import type { AgentDelta, AskAnswer, AskParams, DetachedParams, DiagnosticsParams, FailureWire, Methods, SaveParams } from '../wire.ts';
import type { Keys } from './keys.ts';
import type { Server } from './server.ts';
import { hostSettings } from './settings.ts';

export type Connection = { status: 'starting' | 'ready' | 'missing' | 'failed'; text: string };

/** What the host asks of us. */
export interface Listener {
  delta(delta: AgentDelta): void;
  ask(ask: AskParams, token: vscode.CancellationToken): Promise<AskAnswer>;
  detached(told: DetachedParams): void;
  /** The process is gone, or another one has begun: no run of before goes on. */
  gone(): void;
}

export class Host implements vscode.Disposable {
  readonly log: vscode.LogOutputChannel;
  #server: Server;
  #keys: Keys;
  #listener: Listener;
  #client: LanguageClient | null = null;
  #methods = new Set<string>();
  #changed = new vscode.EventEmitter<Connection>();
  #connection: Connection = { status: 'starting', text: 'The server is starting…' };
  /** The settings that the host was told last, as JSON. */
  #told = '';
  readonly onDidChange = this.#changed.event;

  constructor(server: Server, keys: Keys, log: vscode.LogOutputChannel, listener: Listener) {
    this.#server = server;
    this.#keys = keys;
    this.log = log;
    this.#listener = listener;
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** Whether the host knows a method. */
  has(method: string): boolean {
    return this.#methods.has(method);
  }

  async start(): Promise<void> {
    const found = this.#server.find();
    if ('problem' in found) return this.#tell({ status: 'missing', text: found.problem });
    this.#tell({ status: 'starting', text: 'The server is starting…' });
    this.log.info(`starting ${found.command} ${found.args.join(' ')} (from ${found.from})`);
    const environment = vscode.workspace.getConfiguration('agentHost.server').get<Record<string, string>>('env') ?? {};
    const program: ServerOptions = {
      command: found.command,
      args: [...found.args, 'serve', '--stdio'],
      // Not in the workspace: a folder of it must not be what `-m` finds.
      options: { env: { ...process.env, ...environment }, cwd: this.#server.folder.fsPath },
    };
    const client = new LanguageClient('agentHost', 'Agent Host', program, await this.#options());
    client.registerFeature(new Declaration());
    this.#client = client;
    client.onDidChangeState(({ newState }) => this.#state(client, newState));
    this.#listen(client);
    try {
      await client.start();
    } catch (error) {
      if (this.#client !== client) return;
      this.#tell({ status: 'failed', text: `The server did not start: ${oneLine(error)}` });
    }
  }

  async stop(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    this.#methods.clear();
    if (!client) return;
    try {
      await client.stop(5000);
      await client.dispose();
    } catch (error) {
      this.log.warn(`while stopping: ${oneLine(error)}`);
    }
  }

  async restart(): Promise<void> {
    await this.stop();
    this.#listener.gone();
    await this.start();
  }

  /** Ask the host; rejects with a Refusal. */
  async request<M extends keyof Methods>(method: M, params: Methods[M]['params']): Promise<NonNullable<Methods[M]['result']>> {
    const client = this.#client;
    if (!client || this.#connection.status === 'missing') throw new Refusal({ error: this.#connection.text, code: 'host_gone' });
    try {
      return await client.sendRequest<NonNullable<Methods[M]['result']>>(method, params);
    } catch (error) {
      throw refusal(error);
    }
  }

  async command(command: string, argument: unknown): Promise<unknown> {
    if (!this.#client) throw new Refusal({ error: this.#connection.text, code: 'host_gone' });
    try {
      return await this.#client.sendRequest('workspace/executeCommand', { command, arguments: [argument] });
    } catch (error) {
      throw refusal(error);
    }
  }

  /** Tell the host the person's settings as they are now, and whether the workspace is trusted; one that starts is told once it is ready. False: it knows them. */
  async settingsChanged(): Promise<boolean> {
    const settings = hostSettings();
    const now = JSON.stringify(settings);
    if (this.#connection.status !== 'ready' || now === this.#told) return false;
    this.#told = now;
    try {
      const { problems } = await this.request('agent/settings', { settings });
      for (const problem of problems) this.log.warn(`settings: ${problem}`);
    } catch (error) {
      this.log.warn(`The server does not take the settings (${oneLine(error)}); it is started again.`);
      await this.restart();
    }
    return true;
  }

  dispose(): Thenable<void> {
    return this.stop();
  }

  async #options(): Promise<LanguageClientOptions> {
    const keys = await this.#keys.all();
    const settings = hostSettings();
    this.#told = JSON.stringify(settings);
    return {
      documentSelector: [{ scheme: 'file' }, { scheme: 'untitled' }],
      outputChannel: this.log,
      initializationOptions: { ...settings, ...(Object.keys(keys).length ? { keys } : {}) },
      initializationFailedHandler: () => false,
      connectionOptions: { maxRestartCount: 3 },
      middleware: {
        workspace: {
          // What is asked here may come from a workspace's files; the person's settings go by `agent/settings`.
          configuration: (params) => params.items.map(() => null),
          didChangeConfiguration: () => Promise.resolve(),
        },
      },
    };
  }

  #listen(client: LanguageClient): void {
    client.onNotification('agent/delta', (delta: AgentDelta) => this.#listener.delta(delta));
    client.onNotification('agent/session/detached', (told: DetachedParams) => this.#listener.detached(told));
    client.onRequest('agent/ask', (ask: AskParams, token: vscode.CancellationToken) => this.#listener.ask(ask, token));
    client.onRequest('agent/save', async ({ uris }: SaveParams) => ({ saved: await saved(client, uris) }));
    client.onRequest('agent/diagnostics', ({ uri }: DiagnosticsParams) => {
      const found = vscode.languages.getDiagnostics(client.protocol2CodeConverter.asUri(uri));
      return { diagnostics: found.map((each) => client.code2ProtocolConverter.asDiagnostic(each)) };
    });
  }

  #state(client: LanguageClient, state: State): void {
    if (this.#client !== client) return;
    if (state === State.Running) {
      const experimental = (client.initializeResult?.capabilities.experimental ?? {}) as { agentHost?: { methods?: string[] } };
      this.#methods = new Set(experimental.agentHost?.methods ?? []);
      this.#tell({ status: 'ready', text: '' });
      void this.settingsChanged();
    }
    if (state === State.Stopped) {
      this.#methods.clear();
      this.#listener.gone();
      this.#tell({ status: 'failed', text: 'The server has stopped. The log says more.' });
    }
    if (state === State.Starting) this.#tell({ status: 'starting', text: 'The server is starting…' });
  }

  #tell(connection: Connection): void {
    this.#connection = connection;
    this.#changed.fire(connection);
  }
}

/** An error of the host in its own words. */
export class Refusal extends Error {
  readonly failure: FailureWire;

  constructor(failure: FailureWire) {
    super(failure.error);
    this.failure = failure;
  }
}

function refusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof ResponseError) {
    const data = error.data as Partial<FailureWire> | undefined;
    return new Refusal({ error: data?.error ?? error.message, code: data?.code ?? 'refused' });
  }
  return new Refusal({ error: `The server can't be reached: ${oneLine(error)}`, code: 'host_gone' });
}

async function saved(client: LanguageClient, uris: string[]): Promise<string[]> {
  const done: string[] = [];
  for (const uri of uris) {
    const wanted = client.protocol2CodeConverter.asUri(uri).toString();
    const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === wanted);
    if (document && !document.isUntitled && (await document.save())) done.push(uri);
  }
  return done;
}

class Declaration implements StaticFeature {
  fillClientCapabilities(capabilities: { experimental?: unknown }): void {
    const others = (capabilities.experimental ?? {}) as object;
    capabilities.experimental = { ...others, agentHost: { ask: true, save: true, diagnostics: true } };
  }

  initialize(): void {}

  getState(): FeatureState {
    return { kind: 'static' };
  }

  clear(): void {}
}

export function oneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
