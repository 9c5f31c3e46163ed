// A session that another window's host runs, here the command line's: seen in the list, followed live, taken over after.
// Called as host_view.cjs is.
const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { createInterface } = require('node:readline');
const vscode = require('vscode');

module.exports = ({ host, sessions, commands, tree }, { model, until, items, folder }) => {
  const settings = vscode.workspace.getConfiguration('agentHost.server');
  const changed = (find, what) => until(sessions.onDidChange, find, what);
  const texts = (session) => session.transcript.items.flatMap((item) => (['prompt', 'text'].includes(item.kind) ? [`${item.kind}: ${item.text}`] : []));

  /** Run a prompt in another host; its questions are answered by what is written to `stdin`. */
  function elsewhere(turns, prompt, ...more) {
    const argv = [...settings.get('args'), 'run', '--json', '--ask', '--model', model(turns), '--cwd', folder().fsPath, ...more, prompt];
    const child = spawn(settings.get('path'), argv, { env: { ...process.env, ...settings.get('env'), AGENT_HOST_TRUST: 'always' }, stdio: ['pipe', 'pipe', 'pipe'] });
    const told = [];
    const heard = new vscode.EventEmitter();
    createInterface({ input: child.stdout }).on('line', (line) => { told.push(JSON.parse(line).delta); heard.fire(); });
    child.stderr.resume();
    return {
      child, delta: (kind) => until(heard.event, () => told.find((each) => each?.delta.kind === kind), `${kind} of the other host`),
      gone: new Promise((resolve) => child.on('exit', resolve)),
    };
  }

  return {
    async 'a session of another window is listed as running there, shown live, and goes on here when it has ended'() {
      const other = elsewhere([[{ call: { name: 'terminal_run', arguments: { command: 'touch there' } } }], [{ text: 'From there.' }]], 'in the other window');
      try {
        const { sessionId, runId } = await other.delta('question');
        tree.refresh();
        const node = (await tree.getChildren()).find(({ session }) => session?.sessionId === sessionId);
        assert.match(tree.getTreeItem(node).description, /^runs in another window · /);
        await sessions.open(sessionId, node.session.title);
        const session = sessions.current;
        assert.deepEqual([session.elsewhere, session.running, commands.state().elsewhere], [runId, false, true]);
        await changed(() => items(session, 'tool')[0]?.status === 'asking', 'its question');
        assert.deepEqual(texts(session), ['prompt: in the other window']);
        assert.equal(sessions.questions.length, 0, 'it is for the other window to answer');
        other.child.stdin.write('n not from here\n');
        await changed(() => items(session, 'text').length === 1 && session.elsewhere === undefined, 'its answer and its end');
        assert.deepEqual([items(session, 'tool')[0].status, items(session, 'end')[0].status], ['denied', 'completed']);
        await other.gone;

        const again = elsewhere([[{ wait: 1 }, { text: 'And again.' }]], 'once more', '--session', sessionId);
        await changed(() => session.elsewhere !== undefined, 'it is seen to begin');
        await sessions.send('me, too', { prompt: 'me, too', context: [] }, 'now');
        assert.equal(items(session, 'note').at(-1).code, 'session_busy');
        await changed(() => items(session, 'end').length === 2 && session.elsewhere === undefined, 'it ends');
        await again.gone;
        session.model = model([[{ text: 'Here.' }]]);
        await sessions.send('and here', { prompt: 'and here', context: [] }, 'now');
        assert.deepEqual(texts(session).filter((said) => said !== 'prompt: me, too'), ['prompt: in the other window', 'text: From there.', 'prompt: once more', 'text: And again.', 'prompt: and here', 'text: Here.']);
        assert.deepEqual(items(session, 'end').map(({ status }) => status), ['completed', 'completed', 'completed']);
        await host.request('agent/session/delete', { sessionId });
        sessions.forgotten(sessionId);
      } finally {
        other.child.kill();
      }
    },
  };
};
