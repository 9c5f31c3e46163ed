// Runs in the extension host of a VS Code that has the README's lines, and nothing else of ours: all by documents and
// the host's own commands.
const assert = require('node:assert/strict');
const vscode = require('vscode');

const file = (name) => vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, name);

/** Wait until the text of a document has it. */
function says(document, pattern) {
  return until(vscode.workspace.onDidChangeTextDocument, () => pattern.exec(document.getText()), () => `${pattern} in ${document.getText()}`);
}

function until(event, find, what) {
  return new Promise((resolve, reject) => {
    const done = (act, value) => { clearTimeout(timer); registration.dispose(); act(value); };
    const look = () => { const found = find(); if (found) done(resolve, found); };
    const timer = setTimeout(() => done(reject, new Error(`nothing came of it in 30 s: ${what()}`)), 30_000);
    const registration = event(look);
    look();
  });
}

exports.run = () => converses().catch((error) => { console.log(`not ok - ${error.stack}`); throw error; });

async function converses() {
  const asked = [];
  // The toast of VS Code's client: nobody clicks it, and closing it later must not count as an answer.
  const open = (message, ...choices) => { asked.push({ message, titles: choices.map(({ title }) => title) }); return new Promise(() => {}); };
  Object.assign(vscode.window, { showInformationMessage: open, showWarningMessage: open });
  await vscode.extensions.getExtension('me.agent').activate();
  const tidy = await vscode.workspace.openTextDocument(file('tidy.py'));
  await (await vscode.window.showTextDocument(tidy)).edit((change) => change.insert(new vscode.Position(0, 0), '# not saved\n'));
  const before = tidy.getText();
  const talk = await vscode.workspace.openTextDocument(file('talk.agent.md'));
  await (await vscode.window.showTextDocument(talk)).edit((change) => change.insert(new vscode.Position(0, 0), 'Mend it, please.\n'));
  const lenses = await vscode.commands.executeCommand('vscode.executeCodeLensProvider', talk.uri, 10);
  const send = lenses.find(({ command }) => command?.command === 'agentHost.send');
  assert.ok(send, JSON.stringify(lenses));

  const sent = vscode.commands.executeCommand(send.command.command, ...send.command.arguments);
  await says(talk, /May it\?[^]*\+name = 'agent'/);
  assert.equal(tidy.getText(), before, 'nothing is changed before the answer');
  assert.deepEqual(asked.map(({ titles }) => titles.slice(0, 2)), [['Deny', 'Allow once']], 'VS Code\'s own dialog asks, too');
  const actions = await vscode.commands.executeCommand('vscode.executeCodeActionProvider', talk.uri, new vscode.Range(talk.lineCount - 1, 0, talk.lineCount - 1, 0));
  const allow = actions.find(({ title }) => /allow once/i.test(title));
  assert.ok(allow, JSON.stringify(actions.map(({ title }) => title)));
  const { command, arguments: given } = allow.command ?? allow;
  await vscode.commands.executeCommand(command, ...given);

  await says(talk, /It is done\./);
  assert.equal(tidy.getText(), "# not saved\nname = 'agent'\n");
  await vscode.window.showTextDocument(tidy);
  await vscode.commands.executeCommand('undo');
  assert.equal(tidy.getText(), before);
  await vscode.commands.executeCommand('agentHost.stop', {});
  await says(talk, /^> stopped/m);
  await sent;
}
