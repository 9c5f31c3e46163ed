// Runs inside VS Code's extension host (its own test entry point): `run` throws if a test failed. It stands in the
// extension's folder, and so has the same `vscode` object: what is replaced there answers without a mouse.
const assert = require('node:assert/strict');
const { mkdtempSync, readFileSync, readdirSync, existsSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const vscode = require('vscode');

const SCRIPTS = mkdtempSync(join(process.env.HOME ?? tmpdir(), 'scripts-'));
const folder = () => vscode.workspace.workspaceFolders[0].uri;
const TYPED = '# größe 🐍: not saved\n';
let host, sessions, keys, prepare;
let count = 0;

function model(turns) {
  const path = join(SCRIPTS, `${(count += 1)}.yaml`);
  writeFileSync(path, JSON.stringify(turns));
  return `scripted/${path}`;
}

/** Wait for an event that `find` finds something in; it is looked for at once, too. */
function until(event, find, what) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => done(new Error(`nothing came of it in 40 s: ${what}`)), 40_000);
    const done = (error, value) => {
      clearTimeout(timer);
      registration.dispose();
      if (error) reject(error);
      else resolve(value);
    };
    const look = () => {
      const value = find();
      if (value) done(null, value);
    };
    const registration = event(look);
    look();
  });
}

const ready = () => until(host.onDidChange, () => host.connection.status === 'ready', 'the server is ready');
const question = () => until(sessions.onDidAsk, () => sessions.questions.at(-1), 'a question');
const idle = (session) => until(sessions.onDidChange, () => !session.running, 'the run ends');
const option = (open, kind) => open.question.ask.options.find((each) => each.kind === kind).id;
const items = (session, kind) => session.transcript.items.filter((item) => item.kind === kind);

function send(turns, text = 'go') {
  const session = sessions.fresh();
  session.model = model(turns);
  return [session, sessions.send(text, { prompt: text, context: [] }, 'now')];
}

async function openTyped(name, disk) {
  const uri = vscode.Uri.joinPath(folder(), name);
  writeFileSync(uri.fsPath, disk);
  const document = await vscode.workspace.openTextDocument(uri);
  const editor = await vscode.window.showTextDocument(document);
  await editor.edit((change) => change.insert(new vscode.Position(0, 0), TYPED));
  return document;
}

/** While `act` runs, these functions of the editor's windows are others: answers without a mouse. */
async function answered(others, act) {
  const real = Object.fromEntries(Object.keys(others).map((name) => [name, vscode.window[name]]));
  Object.assign(vscode.window, others);
  try {
    return await act();
  } finally {
    Object.assign(vscode.window, real);
  }
}

const edit = (path, before, after) => ({ call: { name: 'fs_edit', arguments: { path, edits: [{ old: before, new: after }] } } });

const TESTS = {
  async 'the extension starts the host, and declares what it can'() {
    await ready();
    const known = new Set(await vscode.commands.getCommands());
    for (const { command } of vscode.extensions.getExtension('agent-host.agent-host').packageJSON.contributes.commands) assert.ok(known.has(command), command);
    assert.deepEqual(await vscode.commands.executeCommand('agentHost.stop', {}), { stopped: [] }, 'a command of the host');
    assert.equal((await host.request('agent/ping', {})).pong, true);
  },

  async 'reads the unsaved text, asks with the diff, edits the buffer; one undo takes it back'() {
    const document = await openTyped('tidy.py', "name = 'disk'\n");
    const before = document.getText();
    const [session, sent] = send([
      [{ call: { name: 'fs_read', arguments: { path: 'tidy.py' } } }],
      [{ expect: { result: 'not saved' } }, { text: 'I see it.' }, edit('tidy.py', 'disk', 'agent')],
      [{ text: 'Done.' }],
    ]);
    const open = await question();
    assert.match(open.question.ask.diff, /-name = 'disk'\n\+name = 'agent'/);
    assert.equal(document.getText(), before, 'nothing is changed before the answer');
    open.question.settle({ optionId: option(open, 'allowOnce') });
    await sent;
    assert.equal(document.getText(), `${TYPED}name = 'agent'\n`);
    assert.equal(readFileSync(document.uri.fsPath, 'utf8'), "name = 'disk'\n", 'an unsaved buffer is not saved behind the back');
    const end = items(session, 'end')[0];
    assert.equal(end.status, 'completed');
    assert.deepEqual(end.edits.map((uri) => uri.split('/').at(-1)), ['tidy.py']);
    assert.deepEqual(items(session, 'tool').map(({ status }) => status), ['ok', 'ok']);
    await vscode.window.showTextDocument(document);
    await vscode.commands.executeCommand('undo');
    assert.equal(document.getText(), before);
  },

  async 'the native diff editor shows what is proposed'() {
    const document = await openTyped('shown.py', 'x = 1\n');
    const [session, sent] = send([[edit('shown.py', 'x = 1', 'x = 2')], [{ text: 'Done.' }]]);
    const open = await question();
    await vscode.commands.executeCommand('agent-host.showDiff');
    const { input } = vscode.window.tabGroups.activeTabGroup.activeTab;
    assert.ok(input instanceof vscode.TabInputTextDiff);
    const text = async (uri) => (await vscode.workspace.openTextDocument(uri)).getText();
    assert.deepEqual([await text(input.original), await text(input.modified)], [document.getText(), `${TYPED}x = 2\n`]);
    open.question.settle({ optionId: option(open, 'deny') });
    await sent;
    assert.equal(items(session, 'tool')[0].status, 'denied');
  },

  async 'a denial with its reason reaches the model'() {
    writeFileSync(vscode.Uri.joinPath(folder(), 'kept.py').fsPath, 'x = 1\n');
    const [session, sent] = send([[edit('kept.py', 'x = 1', 'x = 2')], [{ expect: { result: 'not on a Friday' } }, { text: 'I see.' }]]);
    const open = await question();
    open.question.settle({ optionId: option(open, 'deny'), reason: 'not on a Friday' });
    await sent;
    assert.equal(items(session, 'end')[0].status, 'completed');
    assert.equal(readFileSync(vscode.Uri.joinPath(folder(), 'kept.py').fsPath, 'utf8'), 'x = 1\n');
  },

  async 'while the transcript is out of sight, a notification asks'() {
    await vscode.commands.executeCommand('workbench.view.explorer');
    const real = vscode.window.showWarningMessage;
    const asked = [];
    vscode.window.showWarningMessage = async (message, ...choices) => { asked.push(message); return choices.find(({ title }) => title === 'Deny'); };
    try {
      const [session, sent] = send([[{ call: { name: 'terminal_run', arguments: { command: 'touch ran' } } }], [{ text: 'Done.' }]]);
      await sent;
      assert.equal(asked.length, 1);
      assert.match(asked[0], /touch ran/);
      assert.equal(items(session, 'tool')[0].status, 'denied');
      assert.ok(!existsSync(vscode.Uri.joinPath(folder(), 'ran').fsPath));
    } finally {
      vscode.window.showWarningMessage = real;
    }
  },

  async 'stop withdraws the question, ends the run, and hands back what waited'() {
    const [session, sent] = send([[{ call: { name: 'terminal_run', arguments: { command: 'touch never' } } }], [{ text: 'Done.' }]]);
    await question();
    const backs = [];
    const registration = sessions.onDidHandBack((text) => backs.push(text));
    await sessions.send('and then this', { prompt: 'and then this', context: [] }, 'next');
    assert.deepEqual(session.pending.map(({ prompt }) => prompt), ['and then this']);
    await vscode.commands.executeCommand('agent-host.stop');
    await sent;
    registration.dispose();
    assert.equal(items(session, 'end')[0].status, 'stopped');
    assert.deepEqual([sessions.questions.length, session.running, session.pending.length, backs], [0, false, 0, ['and then this']]);
  },

  async 'what is queued can be taken back, and what is left runs next'() {
    const run = { call: { name: 'terminal_run', arguments: { command: 'touch later' } } };
    const [session, sent] = send([[run], [{ text: 'You said {{prompt}}.' }]], 'first');
    const open = await question();
    for (const text of ['second', 'third']) await sessions.send(text, { prompt: text, context: [] }, 'next');
    await sessions.unqueue(session.pending[0].id);
    open.question.settle({ optionId: option(open, 'deny') });
    await sent;
    const again = await question();
    again.question.settle({ optionId: option(again, 'deny') });
    await idle(session);
    assert.deepEqual(items(session, 'prompt').map(({ text }) => text), ['first', 'third']);
    assert.equal(items(session, 'end').length, 2);
    assert.deepEqual(session.pending, []);
  },

  async 'a kept session is opened with its past, renamed, forked and deleted'() {
    const [session, sent] = send([[{ text: 'Kept text.' }]], 'remember this');
    await sent;
    const { id } = session;
    await host.request('agent/session/rename', { sessionId: id, title: 'New name' });
    sessions.fresh();
    await sessions.open(id, 'New name');
    const shown = sessions.current.transcript.items.map((item) => [item.kind, item.text]);
    assert.deepEqual(shown, [['prompt', 'remember this'], ['text', 'Kept text.'], ['end', undefined]]);
    const { sessionId } = await host.request('agent/session/fork', { sessionId: id });
    const titles = (await host.request('agent/session/list', {})).sessions;
    assert.ok(titles.some((each) => each.sessionId === sessionId && each.parentSessionId === id));
    assert.ok(titles.some(({ title }) => title === 'New name'));
    for (const each of [sessionId, id]) await host.request('agent/session/delete', { sessionId: each });
    assert.ok(!(await host.request('agent/session/list', {})).sessions.some((each) => [id, sessionId].includes(each.sessionId)));
  },

  async 'a run is reverted in the editor'() {
    const document = await openTyped('back.py', 'x = 1\n');
    const before = document.getText();
    const [session, sent] = send([[edit('back.py', 'x = 1', 'x = 2')], [{ text: 'Done.' }]]);
    const open = await question();
    open.question.settle({ optionId: option(open, 'allowOnce') });
    await sent;
    assert.notEqual(document.getText(), before);
    await vscode.commands.executeCommand('agent-host.revertRun');
    assert.equal(document.getText(), before);
    assert.match(items(session, 'note').at(-1).text, /Reverted: back\.py/);
  },

  async 'what a workspace says in its settings does not loosen anything'() {
    assert.equal(vscode.workspace.getConfiguration('agentHost').get('read'), true, 'the workspace has settings');
    const [session, sent] = send([[{ call: { name: 'terminal_run', arguments: { command: 'touch loosened' } } }], [{ text: 'Done.' }]]);
    const open = await question();
    open.question.settle({ optionId: option(open, 'deny') });
    await sent;
    assert.equal(items(session, 'tool')[0].status, 'denied');
    assert.equal(host.connection.status, 'ready');
  },

  async 'a setting that the person changes counts for the next run'() {
    const settings = vscode.workspace.getConfiguration('agentHost');
    await settings.update('model', model([[{ text: 'By the settings.' }]]), vscode.ConfigurationTarget.Global);
    try {
      const session = sessions.fresh();
      session.model = '';
      await sessions.send('go', { prompt: 'go', context: [] }, 'now');
      assert.equal(items(session, 'text')[0]?.text, 'By the settings.');
    } finally {
      await settings.update('model', undefined, vscode.ConfigurationTarget.Global);
    }
  },

  async 'a key of the secret storage is used and told of, and stands in no log'() {
    const secret = 'sk-very-secret-0123456789';
    await extensionSecrets(secret);
    await host.restart();
    await ready();
    const { models } = await host.request('agent/models', {});
    const { usable, source } = models.find(({ provider }) => provider === 'anthropic');
    assert.deepEqual([usable, source], [true, "the editor's secret store"]);
    assert.equal(keys.redacted(`x ${secret} y`), 'x ••• y');
  },

  async 'a host that dies is said to have, and the next prompt finds a new one'() {
    const [session, sent] = send([[{ call: { name: 'terminal_run', arguments: { command: 'touch died' } } }], [{ text: 'Done.' }]]);
    await question();
    process.kill(serverPid(), 'SIGKILL');
    await sent;
    const [failure] = items(session, 'note');
    assert.deepEqual([failure.code, session.running, sessions.questions.length], ['host_gone', false, 0]);
    const [second, resent] = send([[{ text: 'Here again.' }]]);
    await resent;
    assert.equal(items(second, 'end')[0].status, 'completed');
  },

  async 'a prompt names problems and files by mention'() {
    const collection = vscode.languages.createDiagnosticCollection('test');
    const uri = vscode.Uri.joinPath(folder(), 'tidy.py');
    collection.set(uri, [new vscode.Diagnostic(new vscode.Range(0, 0, 0, 4), 'a problem', vscode.DiagnosticSeverity.Warning)]);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
    const { prompt, context, unknown } = await prepare('mend @problems in @tidy.py:1-2 and @nowhere.py');
    assert.match(prompt[1].text, /tidy\.py:1: warning: a problem/);
    assert.deepEqual(context, [{ uri: uri.toString(), range: { start: { line: 0, character: 0 }, end: { line: 2, character: 0 } } }]);
    assert.deepEqual(unknown, ['@nowhere.py']);
    collection.dispose();
  },
};

async function extensionSecrets(secret) {
  const real = vscode.window.showQuickPick, input = vscode.window.showInputBox;
  vscode.window.showQuickPick = async () => 'anthropic';
  vscode.window.showInputBox = async () => secret;
  try {
    assert.equal(await keys.set(), true);
  } finally {
    vscode.window.showQuickPick = real;
    vscode.window.showInputBox = input;
  }
}

/** The host is a child of this process. */
function serverPid() {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      if (parent === process.pid && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('serve\0--stdio')) return Number(pid);
    } catch { /* it has ended meanwhile */ }
  }
  throw new Error('there is no host');
}

/** Everything that the other files of tests need. */
const HELP = { model, until, question, idle, option, items, send, openTyped, edit, folder, ready, answered, SCRIPTS };

exports.run = async () => {
  const extension = vscode.extensions.getExtension('agent-host.agent-host');
  const api = await extension.activate();
  ({ host, sessions, keys, prepare } = api);
  for (const file of ['./host_view.cjs', './host_cases.cjs', './host_elsewhere.cjs']) Object.assign(TESTS, require(file)(api, HELP));
  await ready();
  let failed = 0;
  for (const [name, test] of Object.entries(TESTS)) {
    if (process.env.ONLY && !new RegExp(process.env.ONLY).test(name)) continue;
    try {
      await Promise.race([test(), new Promise((_, reject) => setTimeout(reject, 90_000, new Error("nothing came of it in 90 s")).unref())]);
      console.log(`ok - ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`not ok - ${name}\n${error.stack}`);
      for (const { question: open } of sessions.questions) open.settle({});
      await sessions.stop().catch(() => {});
    }
  }
  if (failed) throw new Error(`${failed} failed`);
};
