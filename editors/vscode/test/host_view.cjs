// More tests in the extension host: edits in part, saving, diagnostics, steering, pickers, what a run changed, and the
// server's installation. Called with what the extension tells of itself, and the helpers of host.cjs.
const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { existsSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const vscode = require('vscode');

module.exports = ({ host, sessions, server, facts, commands, prepare, suggestions }, { model, until, question, option, items, send, edit, folder, ready, answered, SCRIPTS }) => {
  const file = (name) => vscode.Uri.joinPath(folder(), name);
  const text = async (uri) => (await vscode.workspace.openTextDocument(uri)).getText();
  const settings = () => vscode.workspace.getConfiguration('agentHost');

  async function opened(name, disk) {
    writeFileSync(file(name).fsPath, disk);
    const document = await vscode.workspace.openTextDocument(file(name));
    await vscode.window.showTextDocument(document);
    return document;
  }

  const TESTS = {
    async 'an edit is accepted in part'() {
      const document = await opened('parts.py', `a = 1\n${'x = 0\n'.repeat(12)}b = 1\n`);
      const [session, sent] = send([
        [{ call: { name: 'fs_edit', arguments: { path: 'parts.py', edits: [{ old: 'a = 1', new: 'a = 2' }, { old: 'b = 1', new: 'b = 2' }] } } }],
        [{ text: 'Done.' }],
      ]);
      const open = await question();
      const { parts } = open.question.ask;
      assert.equal(parts.length, 2);
      const wanted = parts.find(({ diff }) => diff.includes('+b = 2'));
      await commands.handle({ type: 'answer', runId: open.question.ask.runId, callId: open.question.ask.callId, optionId: option(open, 'allowOnce'), reason: '', accepted: [wanted.id] });
      await sent;
      assert.match(document.getText(), /^a = 1\n[^]*b = 2\n$/);
      assert.deepEqual(items(session, 'end').map(({ status }) => status), ['completed']);
    },

    async 'a buffer that was clean is saved after an edit; the host asks the editor for it'() {
      const document = await opened('clean.py', 'x = 1\n');
      const [, sent] = send([[edit('clean.py', 'x = 1', 'x = 2')], [{ text: 'Done.' }]]);
      const open = await question();
      open.question.settle({ optionId: option(open, 'allowOnce') });
      await sent;
      assert.deepEqual([readFileSync(document.uri.fsPath, 'utf8'), document.isDirty], ['x = 2\n', false]);
    },

    async 'the agent reads the problems that the editor shows'() {
      await opened('wrong.py', 'x = 1\n');
      const collection = vscode.languages.createDiagnosticCollection('agent-test');
      collection.set(file('wrong.py'), [new vscode.Diagnostic(new vscode.Range(0, 0, 0, 1), 'x is a poor name', vscode.DiagnosticSeverity.Error)]);
      try {
        const [session, sent] = send([[{ call: { name: 'editor_diagnostics', arguments: { path: 'wrong.py' } } }], [{ expect: { result: 'x is a poor name' } }, { text: 'I see.' }]]);
        await sent;
        assert.deepEqual(items(session, 'end').map(({ status, reason }) => [status, reason]), [['completed', '']]);
      } finally {
        collection.dispose();
      }
    },

    async 'what is said while it works is taken before the next call of the model, and shown as said'() {
      const run = { call: { name: 'terminal_run', arguments: { command: 'touch steered' } } };
      const [session, sent] = send([[run], [{ expect: { prompt: 'mind the tests' } }, { text: 'I mind them.' }]], 'first');
      const open = await question();
      await sessions.send('mind the tests', { prompt: 'mind the tests', context: [] }, 'now');
      assert.deepEqual(session.pending.map(({ prompt, when }) => [prompt, when]), [['mind the tests', 'now']]);
      open.question.settle({ optionId: option(open, 'deny') });
      await sent;
      await until(sessions.onDidChange, () => session.pending.length === 0, 'it is taken');
      assert.deepEqual(items(session, 'prompt').map(({ text: said, steered }) => [said, steered]), [['first', false], ['mind the tests', true]]);
      assert.deepEqual(items(session, 'end').map(({ status }) => status), ['completed']);
    },

    async 'model and role are picked for the session'() {
      const session = sessions.fresh();
      const shown = [];
      const pick = (find) => async (rows) => { shown.push(rows); return rows.find(find); };
      const chosen = model([[{ text: 'Picked.' }]]);
      await answered({ showQuickPick: pick(({ other }) => other), showInputBox: async () => chosen }, () => vscode.commands.executeCommand('agent-host.pickModel'));
      await answered({ showQuickPick: pick(({ label }) => label === 'reviewer') }, () => vscode.commands.executeCommand('agent-host.pickRole'));
      assert.deepEqual([session.model, session.role], [chosen, 'reviewer']);
      assert.ok(shown[0].some(({ label }) => label.includes('anthropic/')));
      await sessions.send('go', { prompt: 'go', context: [] }, 'now');
      assert.deepEqual(Object.values(session.transcript.runs).map(({ role, model: used }) => [role, used]), [['reviewer', chosen]]);
      const { model: told, role, modelProblem } = commands.state();
      assert.deepEqual([told, role, modelProblem], [chosen, 'reviewer', '']);
      Object.assign(sessions.fresh(), { role: '', model: '' });
    },

    async 'what a run changed is shown in the native diff editor, and taken back file by file'() {
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      for (const name of ['one.py', 'two.py']) writeFileSync(file(name).fsPath, 'x = 1\n');
      const [session, sent] = send([[edit('one.py', 'x = 1', 'x = 2')], [edit('two.py', 'x = 1', 'x = 3')], [{ text: 'Done.' }]]);
      for (let at = 0; at < 2; at += 1) {
        const open = await question();
        open.question.settle({ optionId: option(open, 'allowOnce') });
        await until(sessions.onDidChange, () => !sessions.questions.includes(open), 'it is answered');
      }
      await sent;
      const [changes] = items(session, 'changes');
      assert.deepEqual(changes.edits.map((uri) => uri.split('/').at(-1)), ['one.py', 'two.py']);
      await commands.handle({ type: 'changes', runId: changes.runId, name: 'one.py' });
      const { input } = vscode.window.tabGroups.activeTabGroup.activeTab;
      assert.ok(input instanceof vscode.TabInputTextDiff);
      assert.deepEqual([await text(input.original), await text(input.modified), input.modified.toString()], ['x = 1\n', 'x = 2\n', file('one.py').toString()]);
      await commands.handle({ type: 'changes', runId: changes.runId, name: '' });
      assert.equal(vscode.window.tabGroups.activeTabGroup.activeTab.label.startsWith('Changes of the run'), true);
      await commands.handle({ type: 'revert', runId: changes.runId, uris: [file('two.py').toString()] });
      assert.deepEqual([await text(file('one.py')), await text(file('two.py'))], ['x = 2\n', 'x = 1\n']);
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    },

    async 'prompt files complete and are listed with the rest of the guidance'() {
      mkdirSync(file('.agent-host/prompts').fsPath, { recursive: true });
      writeFileSync(file('.agent-host/prompts/release.md').fsPath, '---\ndescription: Cut a release.\nargumentHint: <version>\n---\nRelease $1.\n');
      writeFileSync(file('AGENTS.md').fsPath, 'Be brief.\n');
      assert.ok((await suggestions(facts, '/', '')).some(({ insert }) => insert === '/compact'));
      const [found] = await suggestions(facts, '/', 'rel');
      assert.deepEqual(found, { insert: '/release', label: '/release <version>', detail: 'Cut a release.' });
      await settings().update('mcpServers', { notes: { command: 'no-such-program' } }, vscode.ConfigurationTarget.Global);
      let rows = [];
      await answered({ showQuickPick: async (all) => { rows = all; return all.find(({ label }) => label.includes('AGENTS.md')); } }, () => vscode.commands.executeCommand('agent-host.guidance'));
      await settings().update('mcpServers', undefined, vscode.ConfigurationTarget.Global);
      assert.ok(rows.some(({ label }) => label.includes('/release')));
      assert.ok(rows.some(({ label, description }) => label.includes('notes') && /idle|failed/.test(description)), 'an MCP server and its state');
      assert.equal(vscode.window.activeTextEditor.document.uri.toString(), file('AGENTS.md').toString());
    },

    async 'an image goes with its prompt, and once more when that is tried again'() {
      const attached = [{ name: 'shot.png', mediaType: 'image/png', data: 'iVBORw0KGgo=' }];
      const { prompt } = await prepare('look', attached);
      assert.deepEqual(prompt, [{ type: 'text', text: 'look' }, { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }]);
      const session = sessions.fresh();
      session.model = model([[{ text: 'Seen.' }]]);
      await commands.handle({ type: 'send', text: 'look', when: 'now', attached });
      await commands.handle({ type: 'again', runId: items(session, 'end')[0].runId });
      assert.deepEqual(items(session, 'end').map(({ status }) => status), ['completed', 'completed']);
      assert.deepEqual(items(session, 'note').map(({ text: said }) => said), ['Attached: shot.png', 'Attached: shot.png']);
    },

    async 'a conversation is compacted on wish'() {
      const [session, sent] = send([[{ text: 'word '.repeat(400) }]]);
      await sent;
      await sessions.send('more', { prompt: 'more', context: [] }, 'now');
      await vscode.commands.executeCommand('agent-host.compact');
      const [{ why, before, after }] = items(session, 'compacted');
      assert.ok(why === 'asked' && after < before);
      assert.deepEqual(items(session, 'end').map(({ status }) => status), ['completed', 'completed', 'completed']);
    },

    async 'a failure can be tried again with the same prompt'() {
      const [session, sent] = send([[{ error: { status: 401, message: 'bad key' } }]], 'try it');
      await sent;
      const [end] = items(session, 'end');
      assert.equal(end.failure.code, 'auth_failed');
      session.model = model([[{ text: 'You said {{prompt}}.' }]]);
      await commands.handle({ type: 'again', runId: end.runId });
      assert.equal(items(session, 'text').at(-1).text, 'You said try it.');
    },

    async 'a server that is not there is told with what helps, and found once it is'() {
      const { globalValue } = settings().inspect('server.path');
      await settings().update('server.path', '/nowhere/agent-host', vscode.ConfigurationTarget.Global);
      try {
        await until(host.onDidChange, () => host.connection.status === 'missing', 'it is missing');
        assert.match(host.connection.text, /agentHost\.server\.path names `\/nowhere\/agent-host`.*Correct it/);
        const session = sessions.fresh();
        await sessions.send('go', { prompt: 'go', context: [] }, 'now');
        assert.equal(items(session, 'note')[0].code, 'host_gone');
      } finally {
        await settings().update('server.path', globalValue, vscode.ConfigurationTarget.Global);
      }
      await ready();
    },

    async 'the server is installed into the editor\'s storage; a failure says why and leaves what was there'() {
      const installed = join(server.folder.fsPath, 'server', 'bin', 'agent-host');
      const python = settings().get('server.path');
      await settings().update('server.python', python, vscode.ConfigurationTarget.Global);
      await settings().update('server.package', wheel(python), vscode.ConfigurationTarget.Global);
      await server.install();
      const version = () => spawnSync(installed, ['--version'], { encoding: 'utf8' }).stdout.trim();
      assert.equal(version(), 'agent-host 9.9.9');
      await settings().update('server.package', join(SCRIPTS, 'gone-1-py3-none-any.whl'), vscode.ConfigurationTarget.Global);
      await assert.rejects(server.install(), /failed \(1\).*gone-1-py3-none-any\.whl/);
      assert.equal(version(), 'agent-host 9.9.9');
      await settings().update('server.python', '/no/python', vscode.ConfigurationTarget.Global);
      await assert.rejects(server.install(), /\/no\/python is not a Python of version 3\.11.*agentHost\.server\.python/);
      assert.ok(existsSync(installed));
      for (const name of ['server.python', 'server.package']) await settings().update(name, undefined, vscode.ConfigurationTarget.Global);
    },
  };

  /** A wheel of a server that only knows its version. */
  function wheel(python) {
    const source = join(SCRIPTS, 'wheel');
    const info = join(source, 'agent_host-9.9.9.dist-info');
    mkdirSync(info, { recursive: true });
    writeFileSync(join(source, 'told.py'), "def main():\n    print('agent-host 9.9.9')\n");
    writeFileSync(join(info, 'METADATA'), 'Metadata-Version: 2.1\nName: agent-host\nVersion: 9.9.9\n');
    writeFileSync(join(info, 'WHEEL'), 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n');
    writeFileSync(join(info, 'entry_points.txt'), '[console_scripts]\nagent-host = told:main\n');
    writeFileSync(join(info, 'RECORD'), 'told.py,,\nagent_host-9.9.9.dist-info/METADATA,,\nagent_host-9.9.9.dist-info/WHEEL,,\nagent_host-9.9.9.dist-info/entry_points.txt,,\nagent_host-9.9.9.dist-info/RECORD,,\n');
    const target = join(SCRIPTS, 'agent_host-9.9.9-py3-none-any.whl');
    const done = spawnSync(python, ['-m', 'zipfile', '-c', target, join(source, 'told.py'), info], { encoding: 'utf8' });
    assert.equal(done.status, 0, done.stderr);
    return target;
  }

  return TESTS;
};
