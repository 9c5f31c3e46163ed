// The main job by a client on vscode-jsonrpc, the library under VS Code's own client.
// Run by `node --test`; PYTHON names the interpreter that has agent_host.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import rpc from 'vscode-jsonrpc/node';

const DISK = "name = 'disk'\n";
const TYPED = '# größe 🐍: not saved\n' + DISK;
const TURNS = [
  [{ call: { name: 'fs_read', arguments: { path: 'tidy.py' } } }],
  [
    { expect: { result: 'not saved' } },
    { text: 'I see the unsaved text.' },
    { call: { name: 'fs_edit', arguments: { path: 'tidy.py', edits: [{ old: 'disk', new: 'agent' }] } } },
  ],
  [{ call: { name: 'terminal_run', arguments: { command: 'touch ran' } } }],
  [{ text: 'All done.' }],
];

/** A host with an open, unsaved document; `answer` picks the title of each question's answer. */
class Client {
  constructor(context, answer) {
    this.folder = mkdtempSync(join(tmpdir(), 'agent-host-node-'));
    this.home = mkdtempSync(join(tmpdir(), 'agent-host-home-'));
    this.file = join(this.folder, 'tidy.py');
    this.uri = pathToFileURL(this.file).href;
    writeFileSync(this.file, DISK);
    this.deltas = [];
    this.questions = [];
    this.popups = [];
    this.text = TYPED;
    this.version = 1;
    const env = { PATH: process.env.PATH, HOME: this.home, AGENT_HOST_HOME: join(this.home, '.state'), AGENT_HOST_TRUST: 'always' };
    const python = process.env.PYTHON ?? 'python3';
    this.child = spawn(python, ['-m', 'agent_host', 'serve', '--stdio'], {
      cwd: this.folder, env, stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.exited = new Promise((resolve) => this.child.on('exit', resolve));
    this.connection = rpc.createMessageConnection(
      new rpc.StreamMessageReader(this.child.stdout), new rpc.StreamMessageWriter(this.child.stdin));
    this.#listen(answer);
    context.after(() => {
      this.child.kill('SIGKILL');
      for (const folder of [this.folder, this.home]) rmSync(folder, { recursive: true, force: true });
    });
  }

  #listen(answer) {
    const { connection } = this;
    connection.onNotification('agent/delta', (params) => this.deltas.push(params));
    connection.onNotification('window/showMessage', (params) => this.popups.push(params));
    connection.onNotification(() => {});
    connection.onRequest('window/showMessageRequest', (params) => {
      this.questions.push(params);
      return answer(params);
    });
    connection.onRequest('window/workDoneProgress/create', () => null);
    connection.onRequest('client/registerCapability', () => null);
    connection.onRequest('workspace/configuration', (params) => params.items.map(() => null));
    connection.onRequest('workspace/applyEdit', (params) => this.#apply(params.edit));
    connection.listen();
  }

  #apply(edit) {
    for (const change of edit.documentChanges) {
      assert.equal(change.textDocument.uri, this.uri);
      if (change.textDocument.version !== this.version) return { applied: false, failureReason: 'version' };
      this.text = applyEdits(this.text, change.edits);
    }
    this.version += 1;
    setImmediate(() => this.connection.sendNotification('textDocument/didChange', {
      textDocument: { uri: this.uri, version: this.version }, contentChanges: [{ text: this.text }],
    }));
    return { applied: true };
  }

  async start() {
    const result = await this.connection.sendRequest('initialize', {
      processId: process.pid,
      rootUri: pathToFileURL(this.folder).href,
      capabilities: {
        workspace: { applyEdit: true, workspaceEdit: { documentChanges: true } },
        window: { showMessage: { messageActionItem: {} }, workDoneProgress: true },
      },
    });
    await this.connection.sendNotification('initialized', {});
    await this.connection.sendNotification('textDocument/didOpen', {
      textDocument: { uri: this.uri, languageId: 'python', version: 1, text: this.text },
    });
    return result;
  }

  script(turns) {
    const path = join(this.folder, '.script.yaml');
    writeFileSync(path, JSON.stringify(turns));
    return `scripted/${path}`;
  }

  async end() {
    assert.equal(await this.connection.sendRequest('shutdown'), null);
    await this.connection.sendNotification('exit');
    assert.equal(await this.exited, 0);
    assert.deepEqual(this.popups, []);
  }
}

/** Positions are UTF-16 here, as JavaScript's strings are. */
function applyEdits(text, edits) {
  const starts = [0];
  for (let i = 0; i < text.length; i++) if (text[i] === '\n') starts.push(i + 1);
  const offset = ({ line, character }) => starts[line] + character;
  for (const { range, newText } of [...edits].sort((a, b) => offset(b.range.start) - offset(a.range.start))) {
    text = text.slice(0, offset(range.start)) + newText + text.slice(offset(range.end));
  }
  return text;
}

const allow = ({ actions }) => actions.find(({ title }) => title.startsWith('Allow once'));
const bound = { timeout: 60_000 };

test('reads the unsaved text, edits it, runs a command', bound, async (context) => {
  const client = new Client(context, allow);
  const { capabilities } = await client.start();
  assert.equal(capabilities.experimental.agentHost.version, 1);
  const result = await client.connection.sendRequest('agent/run', { prompt: 'tidy up', model: client.script(TURNS) });
  assert.equal(result.status, 'completed');
  assert.equal(result.output, 'All done.');
  assert.equal(client.text, TYPED.replace('disk', 'agent'));
  assert.equal(readFileSync(client.file, 'utf8'), DISK);
  assert.equal(client.questions.length, 2);
  assert.ok(existsSync(join(client.folder, 'ran')));
  assert.deepEqual(client.deltas.map(({ seq }) => seq), client.deltas.map((_, index) => index + 1));
  assert.equal(client.deltas.at(-1).delta.kind, 'ended');
  await client.end();
});

test('changes nothing when the question is dismissed', bound, async (context) => {
  const client = new Client(context, () => null);
  await client.start();
  const result = await client.connection.sendRequest('agent/run', { prompt: 'tidy up', model: client.script(TURNS) });
  assert.equal(result.status, 'completed');
  assert.deepEqual(result.edits, []);
  assert.equal(client.text, TYPED);
  assert.ok(!existsSync(join(client.folder, 'ran')));
  await client.end();
});

test('a request without params, and one that is cancelled', bound, async (context) => {
  const client = new Client(context, allow);
  await client.start();
  assert.deepEqual(await client.connection.sendRequest('agent/ping'), { pong: true });
  const source = new rpc.CancellationTokenSource();
  const waiting = new Promise((resolve) => {
    client.connection.onNotification('agent/delta', ({ delta }) => { if (delta.kind === 'text') resolve(); });
  });
  const run = client.connection.sendRequest(
    'agent/run', { prompt: 'go', model: 'scripted/hang' }, source.token);
  await waiting;
  source.cancel();
  const outcome = await run.catch((error) => error);
  assert.ok(outcome.status === 'stopped' || outcome.code === -32800, JSON.stringify(outcome));
  await client.end();
});
