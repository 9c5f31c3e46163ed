// Mentions, diffs, the search for the server, and what the page may say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffCounts, diffLines, patched, reversed } from '../src/core/diff.ts';
import { findServer, type Places } from '../src/core/finding.ts';
import { mentions, typing, written } from '../src/core/mentions.ts';
import { fromPage } from '../src/core/protocol.ts';

test('what a prompt mentions', () => {
  const path = (name: string, lines: { first: number; last: number } | null = null) => ({ kind: 'file', path: name, lines });
  const cases: [string, unknown[]][] = [
    ['mend @src/a.ts please', [path('src/a.ts')]],
    ['@src/a.ts:3 and @src/a.ts:3-9, (@b.ts)', [path('src/a.ts', { first: 3, last: 3 }), path('src/a.ts', { first: 3, last: 9 }), path('b.ts')]],
    ['@"with space.md:2" and @selection, @problems.', [path('with space.md', { first: 2, last: 2 }), { kind: 'selection' }, { kind: 'problems' }]],
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
  assert.deepEqual(fromPage({ type: 'send', text: 'a', when: 'now' }), { type: 'send', text: 'a', when: 'now' });
  for (const value of [null, 'x', {}, { type: 'eval' }, { type: 'send', text: 1 }, { type: 'answer', optionId: {} }, { type: 'answer', accepted: [1] }, { type: 'link', href: [] }]) {
    assert.equal(fromPage(value), null);
  }
});
