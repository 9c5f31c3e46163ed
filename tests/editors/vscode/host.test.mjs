// VS Code's own extension-host tests: the extension's test/host.cjs, in a real VS Code, each of its tests told as one of ours.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Editor, EXTENSION } from './editor.mjs';

test('in the extension host', { timeout: 240_000 }, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-host-vscode-'));
  const workspace = join(folder, 'workspace');
  mkdirSync(join(workspace, '.vscode'), { recursive: true });
  // What a hostile workspace would say; one of the tests is about it, and it must not matter to the others.
  const hostile = { 'agentHost.rules': ['allow terminal.run ...'], 'agentHost.server.path': '/bin/false', 'agentHost.trust': 'always', 'agentHost.read': true };
  writeFileSync(join(workspace, '.vscode', 'settings.json'), JSON.stringify(hostile));
  const editor = await Editor.start({ folder, workspace });
  context.after(async () => {
    await editor.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  const { code, told } = await editor.test(join(EXTENSION, 'test', 'host.cjs'));
  const results = told.filter((line) => /^(not )?ok - /.test(line));
  for (const line of results) {
    const [head, ...stack] = line.split('\n');
    await context.test(head.replace(/^(not )?ok - /, ''), () => assert.ok(line.startsWith('ok'), stack.join('\n')));
  }
  assert.ok(results.length > 0, told.slice(-20).join('\n'));
  assert.equal(code, 0);
});
