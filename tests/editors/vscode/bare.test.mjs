// VS Code without our extension: the README's ten lines around its own client, as they stand there, in a real window.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { test } from 'node:test';
import { Editor, EXTENSION, serverSettings } from './editor.mjs';

const EDIT = { call: { name: 'fs_edit', arguments: { path: 'tidy.py', edits: [{ old: 'disk', new: 'agent' }] } } };
const TURNS = [[{ text: 'I mend it.' }, EDIT], [{ text: 'It is done.' }, { hang: true }]];

/** The extension that the README tells to write. */
function readmeExtension(folder) {
  const readme = readFileSync(resolve(EXTENSION, '..', '..', 'README.md'), 'utf8');
  const block = (language) => new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'm').exec(readme.slice(readme.indexOf('**VS Code**')))[1];
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), block('json'));
  writeFileSync(join(folder, 'extension.js'), block('js'));
  symlinkSync(join(EXTENSION, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

test('a person converses, allows, undoes and stops in a VS Code that has only the README\'s lines', { timeout: 120_000 }, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-host-vscode-'));
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'tidy.py'), "name = 'disk'\n");
  writeFileSync(join(workspace, 'talk.agent.md'), '');
  writeFileSync(join(folder, 'script.yaml'), JSON.stringify(TURNS));
  const environment = {
    PATH: `${dirname(serverSettings(folder)['agentHost.server.path'])}${delimiter}${process.env.PATH}`,
    AGENT_HOST_HOME: join(folder, 'state'), AGENT_HOST_MODEL: `scripted/${join(folder, 'script.yaml')}`, AGENT_HOST_TRUST: 'always',
  };
  const editor = await Editor.start({ folder, workspace, server: {}, environment });
  context.after(async () => {
    await editor.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const { code, told } = await editor.test(join(import.meta.dirname, 'bare.cjs'), readmeExtension(join(folder, 'bare')));
  assert.equal(code, 0, told.find((line) => line.startsWith('not ok')) ?? told.slice(-10).join('\n'));
});
