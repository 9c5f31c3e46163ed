// Mentions, diffs, the search for the server, and what the page may say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffCounts, diffLines, filesOf, patched, reversed } from '../src/core/diff.ts';
import { findServer, type Places } from '../src/core/finding.ts';
import { highlight } from '../src/core/highlight.ts';
import { mentions, typing, written } from '../src/core/mentions.ts';
import { fromPage } from '../src/core/protocol.ts';
import { tokens, usageText } from '../src/core/usage.ts';

test('what a prompt mentions', () => {
  const path = (name: string, lines: { first: number; last: number } | null = null) => ({ kind: 'file', path: name, lines });
  const cases: [string, unknown[]][] = [
    ['mend @src/a.ts please', [path('src/a.ts')]],
    ['@src/a.ts:3 and @src/a.ts:3-9, (@b.ts)', [path('src/a.ts', { first: 3, last: 3 }), path('src/a.ts', { first: 3, last: 9 }), path('b.ts')]],
    ['@"with space.md:2" and @selection, @problems.', [path('with space.md', { first: 2, last: 2 }), { kind: 'selection' }, { kind: 'problems' }]],
    ['mend @src/a.ts: it fails', [path('src/a.ts')]],
    ['me@example.org, @ alone, a@b', []],
    ['@a.ts @a.ts', [path('a.ts')]],
    ['@a.ts:9-3 @a.ts:0', [path('a.ts', { first: 9, last: 9 }), path('a.ts', { first: 1, last: 1 })]],
  ];
  for (const [prompt, expected] of cases) assert.deepEqual(mentions(prompt), expected, prompt);
});

test('what is written is read again', () => {
  for (const name of ['a.ts', 'with space.md', 'odd).md', 'größe.py', 'dot.']) {
    for (const lines of [null, { first: 4, last: 7 }, { first: 4, last: 4 }]) {
      assert.deepEqual(mentions(`see ${written(name, lines ?? undefined)} there`), [{ kind: 'file', path: name, lines }], name);
    }
  }
});

test('what is being typed', () => {
  assert.deepEqual(typing('look at @src', 12), { trigger: '@', query: 'src', from: 8, to: 12 });
  assert.deepEqual(typing('/ne', 3), { trigger: '/', query: 'ne', from: 0, to: 3 });
  assert.equal(typing('a /ne', 5), null);
  assert.equal(typing('me@ex', 5), null);
  assert.equal(typing('@a b', 4), null);
});

const DIFF = '--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n@@ -6,2 +6,3 @@\n six\n+six and a half\n seven\n';
const BEFORE = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n';
const AFTER = 'one\nzwei\nthree\nfour\nfive\nsix\nsix and a half\nseven\n';

test('a diff is applied, also backwards, to lines that moved, and with CRLF', () => {
  assert.equal(patched(BEFORE, DIFF), AFTER);
  assert.equal(patched(AFTER, reversed(DIFF)), BEFORE);
  assert.equal(patched(`zero\n${BEFORE}`, DIFF), `zero\n${AFTER}`);
  assert.equal(patched(BEFORE.replaceAll('\n', '\r\n'), DIFF), AFTER.replaceAll('\n', '\r\n'));
  assert.equal(patched('other\n', DIFF), null);
  assert.equal(patched('', '--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n')?.trim(), 'a\nb');
});

test('a deleted line that looks like the head of a file is a deleted line', () => {
  const kinds = diffLines('--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n--- a/y\n same\n--- a/z\n+++ b/z\n').map(({ kind }) => kind);
  assert.deepEqual(kinds, ['file', 'file', 'hunk', 'delete', 'same', 'file', 'file']);
  assert.deepEqual(diffCounts(DIFF), { added: 2, deleted: 1 });
});

test('a diff of several files is one for each, with what became of it', () => {
  const created = '--- /dev/null\n+++ b/dir/new.py\n@@ -0,0 +1,2 @@\n+a\n+--- a/x\n';
  const deleted = '--- a/old.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n--- b\n';
  assert.deepEqual(filesOf(DIFF + created + deleted), [
    { name: 'x', kind: 'change', diff: DIFF }, { name: 'dir/new.py', kind: 'create', diff: created }, { name: 'old.py', kind: 'delete', diff: deleted }]);
  assert.deepEqual(filesOf(''), []);
});

test('colours never change the code, whatever it is', () => {
  const codes = ['x = "a # b" # c\n', "it's", '/* open', '"open\nnext', '`a\n${b}`', '// c\nint x = 0x1F; // d', "'''doc\n'''", '--[[ a ]] local x', 'url(http://a)', '\\', '"\\', '#', 'größe = 1', '"'.repeat(50_000), '/*'.repeat(30_000), '#'.repeat(30_000), 'a'.repeat(39_000)];
  for (const code of codes) for (const language of ['py', 'ts', 'c', 'sh', 'json', 'sql', 'lua', 'css', 'nothing']) assert.equal(highlight(code, language).map(({ text }) => text).join(''), code);
  const kinds = (code: string, language: string): string[] => highlight(code, language).filter(({ kind }) => kind !== 'plain').map(({ kind, text }) => `${kind} ${text}`);
  assert.deepEqual(kinds('def f(x): return "a" + str(1)  # end', 'python'), ['word def', 'name f', 'word return', 'string "a"', 'name str', 'number 1', 'comment # end']);
  assert.deepEqual(kinds('SELECT a FROM b -- c', 'sql'), ['word SELECT', 'word FROM', 'comment -- c']);
});

test('tokens and money', () => {
  assert.deepEqual([999, 1200, 9999, 10_400].map(tokens), ['999', '1.2k', '10.0k', '10k']);
  const usage = { requests: 1, inputTokens: 1200, outputTokens: 34, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
  assert.equal(usageText(usage), '1.2k in · 34 out');
  assert.equal(usageText({ ...usage, costUsd: 0.0123 }), '1.2k in · 34 out · $0.0123');
  assert.equal(usageText({ ...usage, costUsd: 0.0123, estimated: true }), '1.2k in · 34 out · ~$0.0123');
});

function places(change: Partial<Places>, ...existing: string[]): Places {
  return { setting: '', settingArgs: [], managed: '/storage/server/bin/agent-host', path: ['/usr/bin', 'relative', ''], home: '/home/me', windows: false, exists: (path) => existing.includes(path), ...change };
}

test('the server: the setting, then the installed one, then the PATH and where desktops miss it', () => {
  const all = ['/my/agent-host', '/storage/server/bin/agent-host', '/usr/bin/agent-host', '/home/me/.local/bin/agent-host'];
  assert.deepEqual(findServer(places({ setting: '/my/agent-host', settingArgs: ['-x'] }, ...all)), { command: '/my/agent-host', args: ['-x'], from: 'setting' });
  assert.deepEqual(findServer(places({}, ...all)), { command: all[1], args: [], from: 'managed' });
  assert.deepEqual(findServer(places({}, ...all.slice(2))), { command: all[2], args: [], from: 'path' });
  assert.deepEqual(findServer(places({}, ...all.slice(3))), { command: all[3], args: [], from: 'path' });
  assert.deepEqual(findServer(places({ setting: '~/x' }, '/home/me/x')), { command: '/home/me/x', args: [], from: 'setting' });
});

test('a server that is not found is told with what to do, and a wrong setting is not passed over', () => {
  const nowhere = findServer(places({}));
  assert.ok('problem' in nowhere && /Install it/.test(nowhere.problem) && /agentHost\.server\.path/.test(nowhere.problem));
  for (const setting of ['/gone', 'no-such', 'bin/agent-host']) {
    const found = findServer(places({ setting }, '/usr/bin/agent-host', 'relative/agent-host', 'bin/agent-host'));
    assert.ok('problem' in found && found.problem.includes(setting) && /Give|Correct/.test(found.problem));
  }
  assert.ok('problem' in findServer(places({ path: ['.', ''] }, './agent-host')), 'nothing is run out of the workspace');
});

test('what the page says is looked at before it is believed', () => {
  const sent = (attached: unknown): object => ({ type: 'send', text: 'a', when: 'now', attached });
  const image = { name: 'a.png', mediaType: 'image/png', data: 'AAAA' };
  for (const attached of [[], [image]]) assert.deepEqual(fromPage(sent(attached)), sent(attached));
  for (const attached of [undefined, [null], ['x'], [{ ...image, data: '<svg>' }], [{ ...image, mediaType: 'image/svg+xml' }], Array(9).fill(image)]) assert.equal(fromPage(sent(attached)), null);
  for (const value of [null, 'x', {}, { type: 'eval' }, { type: 'send', text: 1 }, { type: 'answer', optionId: {} }, { type: 'answer', accepted: [1] }, { type: 'link', href: [] }, { type: 'command', command: 'workbench.action.closeFolder' }, { type: 'revert', runId: 'r' }, { type: 'revert', runId: 'r', uris: [1] }]) {
    assert.equal(fromPage(value), null);
  }
});
