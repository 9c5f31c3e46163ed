// What users of other agents ran into, in the extension host: questions that nobody answers or answers too late, plain
// denials and such with a reason, what waits for a run, output without end. Called as host_view.cjs is.
const assert = require('node:assert/strict');
const { existsSync } = require('node:fs');
const vscode = require('vscode');

module.exports = ({ host, sessions, commands }, { until, question, option, items, send, idle, answered, ready, folder }) => {
  const ran = (name) => existsSync(vscode.Uri.joinPath(folder(), name).fsPath);
  const run = (command) => ({ call: { name: 'terminal_run', arguments: { command } } });
  const settings = () => vscode.workspace.getConfiguration('agentHost');
  const closed = (open) => until(sessions.onDidChange, () => !sessions.questions.includes(open), 'the question is closed');
  const hidden = () => vscode.commands.executeCommand('workbench.view.explorer');

  async function asking(how, act) {
    await settings().update('view.askWhenHidden', how, vscode.ConfigurationTarget.Global);
    try {
      return await act();
    } finally {
      await settings().update('view.askWhenHidden', undefined, vscode.ConfigurationTarget.Global);
    }
  }

  return {
    async 'an answer that comes after the stop does nothing, in the view or in a notification'() {
      await hidden();
      const { promise: late, resolve: answer } = Promise.withResolvers();
      let choices;
      await answered({ showWarningMessage: (_message, ...offered) => { choices = offered; return late; } }, async () => {
        const [session, sent] = send([[run('touch late')], [{ text: 'Done.' }]]);
        const open = await question();
        await until(sessions.onDidChange, () => choices, 'it is put');
        await vscode.commands.executeCommand('agent-host.stop');
        await sent;
        assert.deepEqual([sessions.questions.length, items(session, 'end')[0].status], [0, 'stopped']);
        open.question.settle({ optionId: option(open, 'allowOnce') });
        answer(choices.find(({ title }) => title === 'Allow once'));
        const { runId, callId } = open.question.ask;
        await commands.handle({ type: 'answer', runId, callId, optionId: option(open, 'allowOnce'), reason: '', accepted: null });
      });
      const [next, again] = send([[{ text: 'Here.' }]]);
      await again;
      assert.deepEqual([ran('late'), items(next, 'end')[0].status], [false, 'completed']);
    },

    async 'a plain no and a no with its reason are two different things to the model'() {
      const [session, sent] = send([
        [run('touch first')],
        [{ expect: { result: '^(?!.*user says).*the user denied it' } }, run('touch second')],
        [{ expect: { result: 'The user says: use tabs' } }, { text: 'I see.' }],
      ]);
      for (const reason of ['', 'use tabs']) {
        const open = await question();
        const { runId, callId } = open.question.ask;
        await commands.handle({ type: 'answer', runId, callId, optionId: option(open, 'deny'), reason, accepted: null });
        await closed(open);
      }
      await sent;
      assert.deepEqual(items(session, 'end').map(({ status, reason }) => [status, reason]), [['completed', '']]);
      assert.deepEqual(items(session, 'tool').map(({ question: { answer } }) => answer.reason), [null, 'use tabs']);
    },

    async 'with the view out of sight and no notification wanted a question waits, and is answered by a command'() {
      await hidden();
      await asking('none', () => answered({ showWarningMessage: () => assert.fail('nothing was to be shown') }, async () => {
        const [session, sent] = send([[run('touch unseen')], [{ text: 'Done.' }]]);
        await question();
        await vscode.commands.executeCommand('agent-host.deny');
        await sent;
        assert.deepEqual([items(session, 'tool')[0].status, items(session, 'end')[0].status, ran('unseen')], ['denied', 'completed', false]);
      }));
    },

    async 'a dialog that is closed denies this once, and is not put again'() {
      await hidden();
      const put = [];
      const close = async (title, { modal, detail }, ...choices) => {
        put.push({ title, modal, detail });
        return choices.find(({ isCloseAffordance }) => isCloseAffordance); // what VS Code gives for Esc
      };
      await asking('modal', () => answered({ showWarningMessage: close }, async () => {
        const [session, sent] = send([[run('touch closed')], [{ expect: { result: 'the user denied it' } }, { text: 'Done.' }]]);
        await sent;
        assert.deepEqual(items(session, 'end').map(({ status, reason }) => [status, reason]), [['completed', '']]);
      }));
      assert.deepEqual([put.length, put[0].modal, ran('closed')], [1, true, false]);
      assert.match(put[0].detail, /^touch closed\n\nAsked because/);
    },

    async 'what waits runs in its order, without what was taken back'() {
      const [session, sent] = send([[run('touch later')], [{ text: 'You said {{prompt}}.' }]], 'one');
      const open = await question();
      for (const text of ['two', 'three', 'four']) await sessions.send(text, { prompt: text, context: [] }, 'next');
      const { pending } = await host.request('agent/steer/list', { sessionId: session.id });
      assert.deepEqual([pending.map(({ prompt }) => prompt), session.pending.map(({ id }) => id)], [['two', 'three', 'four'], pending.map(({ id }) => id)]);
      await sessions.unqueue(pending[1].id);
      open.question.settle({ optionId: option(open, 'deny') });
      await sent;
      for (let left = 2; left > 0; left -= 1) {
        const again = await question();
        again.question.settle({ optionId: option(again, 'deny') });
        await closed(again);
      }
      await until(sessions.onDidChange, () => items(session, 'end').length === 3, 'all of it has run');
      await idle(session);
      assert.deepEqual(items(session, 'text').map(({ text }) => text), ['You said one.', 'You said two.', 'You said four.']);
      assert.deepEqual([items(session, 'prompt').map(({ text }) => text), session.pending], [['one', 'two', 'four'], []]);
    },

    async 'thirty-five thousand lines of output stay small on their way, and in what is kept of them'() {
      let sent = 0;
      const registration = sessions.onDidChange((change) => { if (change.kind === 'steps') sent += JSON.stringify(change.steps).length; });
      const [session, ended] = send([[run("seq -f 'line %g of a long output' 35000")], [{ text: 'Done.' }]]);
      const answer = sessions.onDidAsk(({ question: open }) => open.settle({ optionId: open.ask.options.find(({ kind }) => kind === 'allowOnce').id }));
      try {
        await ended;
      } finally {
        answer.dispose();
        registration.dispose();
      }
      const [{ status, output, omitted }] = items(session, 'tool');
      const size = 35000 * 'line 12345 of a long output\n'.length;
      assert.equal(status, 'ok');
      assert.match(output, /line 35000 of a long output\n$/);
      assert.ok(output.length <= 120_000 && output.length + omitted <= size, `${output.length} characters are kept`);
      assert.ok(sent < 2 * size, `${sent} characters were told of an output of ${size}`);
      await ready();
    },
  };
};
