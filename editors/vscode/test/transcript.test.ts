// Deltas become items: each kind has its place, and the same deltas make the same items, in whatever portions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MOST_OUTPUT, Transcript, type Item, type Step } from '../src/core/transcript.ts';
import type { AgentDelta } from '../src/wire.ts';

type Delta = AgentDelta['delta'];

class Run {
  readonly transcript = new Transcript();
  #seq = 0;

  delta(delta: Delta, origin: AgentDelta['origin'] = { kind: 'agent' }): this {
    this.#seq += 1;
    this.transcript.take({ step: 'delta', delta: { sessionId: 's', runId: 'r', seq: this.#seq, origin, delta } });
    return this;
  }

  step(step: Step): this {
    this.transcript.take(step);
    return this;
  }

  item<K extends Item['kind']>(kind: K): Extract<Item, { kind: K }> {
    const found = this.transcript.items.findLast((item) => item.kind === kind);
    assert.ok(found, `no item ${kind}`);
    return found as Extract<Item, { kind: K }>;
  }
}

const usage = { requests: 1, inputTokens: 10, outputTokens: 2, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0, costUsd: 0.01 };
const call: Delta = { kind: 'toolCall', callId: 'c', name: 'fs_edit', arguments: { path: 'a' }, title: 'Edit a', risk: 'medium' };
const options = [{ id: 'y', title: 'Allow once', kind: 'allowOnce' as const }, { id: 'n', title: 'Deny', kind: 'deny' as const }];
const ask: Step = { step: 'ask', ask: { sessionId: 's', runId: 'r', callId: 'c', title: 'Edit?', detail: '', diff: '@@', options, allowsReason: true } };

test('text that follows text is one item, and reasoning and tools divide it', () => {
  const run = new Run().delta({ kind: 'text', text: 'a' }).delta({ kind: 'text', text: 'b' }).delta({ kind: 'reasoning', text: 'c' }).delta({ kind: 'text', text: 'd' });
  assert.deepEqual(run.transcript.items.map((item) => ('text' in item ? item.text : '')), ['ab', 'c', 'd']);
});

test('a role that was called speaks for itself', () => {
  const run = new Run().delta({ kind: 'text', text: 'a' }).delta({ kind: 'text', text: 'b' }, { kind: 'agent', path: ['coder', 'reviewer'] });
  assert.deepEqual(run.transcript.items.map(({ by }) => by), ['', 'coder › reviewer']);
});

test('a call from its wish to its result', () => {
  const run = new Run().delta(call);
  assert.equal(run.item('tool').status, 'requested');
  run.delta({ kind: 'edit', callId: 'c', uri: 'file:///a', diff: 'd1', state: 'proposed' }).step(ask);
  assert.equal(run.item('tool').status, 'asking');
  assert.equal(run.transcript.openQuestion()?.callId, 'c');
  assert.equal(run.item('tool').question?.diff, '@@');
  run.delta({ kind: 'question', callId: 'c', title: 'Edit?', detail: '', options });
  assert.ok(run.item('tool').question?.open, 'telling of the question does not close it');
  run.step({ step: 'closed', runId: 'r', callId: 'c' }).delta({ kind: 'answer', callId: 'c', optionId: 'y' });
  assert.equal(run.transcript.openQuestion(), null);
  assert.equal(run.item('tool').question?.answer?.optionId, 'y');
  run.delta({ kind: 'edit', callId: 'c', uri: 'file:///a', diff: 'd2', state: 'applied' }).delta({ kind: 'toolResult', callId: 'c', status: 'ok', summary: 'done' });
  assert.deepEqual(run.item('tool').edits, [{ uri: 'file:///a', diff: 'd2', state: 'applied' }]);
  run.delta({ kind: 'usage', usage }).delta({ kind: 'ended', status: 'completed' });
  assert.deepEqual(run.item('end').edits, ['file:///a']);
  assert.equal(run.item('end').usage?.costUsd, 0.01);
});

test('the question may be told before the request for it comes', () => {
  const run = new Run().delta(call).delta({ kind: 'question', callId: 'c', title: 'Edit?', detail: '', options });
  assert.equal(run.transcript.openQuestion(), null, 'nobody can answer it here yet');
  run.step(ask);
  assert.ok(run.transcript.openQuestion());
});

test('a run that ends leaves nothing open', () => {
  const run = new Run().delta(call).step(ask).delta({ kind: 'ended', status: 'stopped' });
  assert.equal(run.item('tool').status, 'stopped');
  assert.equal(run.transcript.openQuestion(), null);
});

test('a retry voids the text since the last call', () => {
  const run = new Run().delta({ kind: 'text', text: 'kept' }).delta(call).delta({ kind: 'text', text: 'void' }).delta({ kind: 'retry', reason: 'cut', waitSeconds: 2 }).delta({ kind: 'text', text: 'again' });
  assert.deepEqual(run.transcript.items.flatMap((item) => (item.kind === 'text' ? [[item.text, item.voided]] : [])), [['kept', false], ['void', true], ['again', false]]);
});

test('long output is kept to its end, and what is gone is counted', () => {
  const run = new Run().delta(call);
  const line = `${'x'.repeat(99)}\n`;
  for (let i = 0; i < 5000; i += 1) run.delta({ kind: 'toolOutput', callId: 'c', stream: 'stdout', text: line });
  const { output, omitted } = run.item('tool');
  assert.ok(output.length < 2 * MOST_OUTPUT && output.length >= MOST_OUTPUT - 100);
  assert.equal(output.length + omitted, 5000 * 100);
});

test('a delta that was seen before changes nothing', () => {
  const transcript = new Transcript();
  const delta = (seq: number): Step => ({ step: 'delta', delta: { sessionId: 's', runId: 'r', seq, origin: { kind: 'agent' }, delta: { kind: 'text', text: String(seq) } } });
  for (const seq of [1, 2, 2, 1, 3]) transcript.take(delta(seq));
  assert.deepEqual(transcript.items.map((item) => ('text' in item ? item.text : '')), ['123']);
});

test('decisions stand with their call; other logs are one item', () => {
  const run = new Run().delta({ kind: 'log', source: 'cli', text: 'a' }).delta({ kind: 'log', source: 'cli', text: 'b' }).delta(call).delta({ kind: 'log', source: 'permissions', text: 'asked' });
  assert.deepEqual(run.item('log').lines, ['cli: a', 'cli: b']);
  assert.deepEqual(run.item('tool').judged, ['asked']);
});

test('a plan replaces the one before, in its place', () => {
  const run = new Run().delta({ kind: 'plan', entries: [{ text: 'a', status: 'pending' }] }).delta({ kind: 'text', text: 'x' }).delta({ kind: 'plan', entries: [{ text: 'a', status: 'completed' }] });
  assert.deepEqual(run.transcript.items.map(({ kind }) => kind), ['plan', 'text']);
  assert.equal(run.item('plan').entries[0]?.status, 'completed');
});

test('a transcript that goes on from a snapshot is the one that never was interrupted', () => {
  const steps: Step[] = Array.from({ length: 60 }, (_, index) => ({ step: 'delta', delta: { sessionId: 's', runId: 'r', seq: index + 1, origin: { kind: 'agent' as const }, delta: index % 7 === 3 ? { ...call, callId: `c${index}` } : { kind: 'text' as const, text: `${index} ` } } }));
  const whole = new Transcript();
  steps.forEach((step) => whole.take(step));
  for (const at of [0, 13, 59]) {
    const first = new Transcript();
    steps.slice(0, at).forEach((step) => first.take(step));
    const second = Transcript.from(structuredClone({ items: first.items, runs: first.runs }));
    steps.slice(Math.max(0, at - 5)).forEach((step) => second.take(step)); // some come twice
    assert.deepEqual(second.items, whole.items);
  }
});

test('only what changed is told as changed', () => {
  const run = new Run().delta({ kind: 'text', text: 'a' }).delta(call);
  assert.deepEqual(run.transcript.changes(), [0, 1]);
  assert.deepEqual(run.transcript.changes(), []);
  run.delta({ kind: 'toolOutput', callId: 'c', stream: 'stdout', text: 'x' });
  assert.deepEqual(run.transcript.changes(), [1]);
});

test('a kind of delta from a newer server does no harm', () => {
  const run = new Run().delta({ kind: 'hologram' } as unknown as Delta).delta({ kind: 'text', text: 'a' });
  assert.equal(run.transcript.items.length, 1);
});

test('what a run changed, and why it failed, stand at its end; what never began has a note', () => {
  const run = new Run();
  run.delta({ kind: 'toolCall', callId: 'c', name: 'fs_edit', title: 'Edit', risk: 'low', arguments: {} })
    .delta({ kind: 'edit', callId: 'c', uri: 'file:///w/a', diff: '', state: 'applied' })
    .delta({ kind: 'edit', callId: 'c', uri: 'file:///w/b', diff: '', state: 'proposed' })
    .delta({ kind: 'compacted', why: 'full', before: 100, after: 10, summary: 'S' })
    .delta({ kind: 'diff', text: 'D', omitted: [{ uri: 'file:///w/c', reason: 'large' }] })
    .delta({ kind: 'ended', status: 'failed', reason: 'No.' });
  run.step({ step: 'failure', runId: 'r', error: { error: 'No.', code: 'overloaded' } }).step({ step: 'failure', runId: 'other', error: { error: 'No key.', code: 'no_api_key' } });
  const changes = run.item('changes');
  assert.deepEqual([changes.text, changes.edits, changes.omitted.length], ['D', ['file:///w/a'], 1]);
  assert.equal(run.item('compacted').summary, 'S');
  assert.deepEqual(run.item('end').failure, { error: 'No.', code: 'overloaded' });
  assert.deepEqual([run.item('note').code, run.item('note').runId], ['no_api_key', 'other']);
});
