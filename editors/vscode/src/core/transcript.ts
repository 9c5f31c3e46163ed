// A session's transcript, made of deltas one after the other: what the page shows and what survives its closing.
// Both the extension and the page hold one; the same steps make the same items. Pure. Lines of output are bounded.

import type { AgentDelta, AskParams, AskPartWire, CompactedDelta, FailureWire, OmittedFileWire, OptionWire, PlanEntryWire, UsageWire } from '../wire.ts';

export type ToolStatus = 'requested' | 'running' | 'asking' | 'ok' | 'denied' | 'failed' | 'stopped';

export interface QuestionItem {
  title: string;
  /** The title without what `detail` and `diff` tell. */
  wish: string;
  detail: string;
  options: OptionWire[];
  diff: string | null;
  /** What can be accepted without the rest; empty: all or nothing. */
  parts: AskPartWire[];
  allowsReason: boolean;
  /** Whether it can be answered now, here. */
  open: boolean;
  answer: { optionId: string | null; reason: string | null } | null;
}

export interface EditItem { uri: string; diff: string; state: 'proposed' | 'applied' }

export interface ToolItem {
  kind: 'tool';
  callId: string;
  name: string;
  title: string;
  risk: 'low' | 'medium' | 'high';
  arguments: string;
  status: ToolStatus;
  summary: string;
  output: string;
  omitted: number;
  /** How it was judged. */
  judged: string[];
  question: QuestionItem | null;
  edits: EditItem[];
}

export interface EndItem {
  kind: 'end';
  status: string;
  reason: string;
  usage: UsageWire | null;
  edits: string[];
  /** Why it failed, with the code that says what helps. */
  failure: FailureWire | null;
}

/** All that a run changed; `edits`: the files that it edited, by URI. */
export interface ChangesItem { kind: 'changes'; text: string; omitted: OmittedFileWire[]; edits: string[] }

export type Body =
  | { kind: 'prompt'; text: string; steered: boolean }
  | { kind: 'text'; text: string; voided: boolean }
  | { kind: 'reasoning'; text: string; voided: boolean }
  | ToolItem
  | { kind: 'plan'; entries: PlanEntryWire[] }
  | { kind: 'log'; lines: string[]; left: number }
  | { kind: 'note'; text: string; tone: 'info' | 'error'; code: string | null }
  | ChangesItem
  | { kind: 'compacted'; why: CompactedDelta['why']; before: number; after: number; summary: string }
  | EndItem;

/** `by`: the role that speaks, where it is not the run's own. */
export type Item = Body & { id: number; runId: string; by: string };

export type Step =
  | { step: 'delta'; delta: AgentDelta }
  | { step: 'prompt'; runId: string; text: string; steered: boolean }
  | { step: 'ask'; ask: AskParams }
  | { step: 'closed'; runId: string; callId: string }
  | { step: 'failure'; runId: string; error: FailureWire }
  | { step: 'note'; runId: string; text: string };

export interface RunState { seq: number; model: string; role: string; usage: UsageWire | null; ended: boolean }

export const MOST_OUTPUT = 60_000;
const MOST_LOG_LINES = 200;
const MOST_JUDGED = 20;

export class Transcript {
  items: Item[] = [];
  runs: Record<string, RunState> = {};
  #changed = new Set<number>();

  /** What another transcript holds, as data. */
  static from(data: { items: Item[]; runs: Record<string, RunState> }): Transcript {
    const made = new Transcript();
    made.items = data.items;
    made.runs = data.runs;
    return made;
  }

  /** Take one step; what it changed is in `changes()`. A delta that was seen before changes nothing. */
  take(step: Step): void {
    switch (step.step) {
      case 'delta':
        return this.#delta(step.delta);
      case 'prompt':
        return void this.#add(step.runId, { kind: 'prompt', text: step.text, steered: step.steered });
      case 'ask':
        return this.#ask(step.ask);
      case 'closed':
        return this.#close(step.runId, step.callId);
      case 'failure':
        return this.#fail(step.runId, step.error);
      case 'note':
        return void this.#add(step.runId, { kind: 'note', text: step.text, tone: 'info', code: null });
    }
  }

  /** The ids of items that are new or changed since the last call, in order. */
  changes(): number[] {
    const ids = [...this.#changed].sort((a, b) => a - b);
    this.#changed.clear();
    return ids;
  }

  /** The last call that waits for an answer that can be given here. */
  openQuestion(): (ToolItem & { runId: string }) | null {
    for (let at = this.items.length - 1; at >= 0; at -= 1) {
      const item = this.items[at];
      if (item?.kind === 'tool' && item.question?.open) return item;
    }
    return null;
  }

  tool(runId: string, callId: string): (ToolItem & Item) | null {
    for (let at = this.items.length - 1; at >= 0; at -= 1) {
      const item = this.items[at];
      if (item?.kind === 'tool' && item.runId === runId && item.callId === callId) return item;
    }
    return null;
  }

  // ---- steps

  #delta({ runId, seq, origin, delta }: AgentDelta): void {
    const run = (this.runs[runId] ??= { seq: 0, model: '', role: '', usage: null, ended: false });
    if (seq <= run.seq) return;
    run.seq = seq;
    const by = origin.path && origin.path.length > 1 ? origin.path.join(' › ') : '';
    switch (delta.kind) {
      case 'started':
        run.model = delta.model;
        run.role = delta.role;
        return;
      case 'text':
      case 'reasoning':
        return this.#say(runId, by, delta.kind, delta.text);
      case 'toolCall':
        return void this.#add(runId, tool(delta.callId, delta.name, delta.title, delta.risk, delta.arguments), by);
      case 'toolOutput':
        return this.#output(runId, delta.callId, delta.text);
      case 'toolResult':
        return this.#change(runId, delta.callId, (item) => {
          item.status = delta.status;
          item.summary = delta.summary;
          if (item.question) item.question.open = false;
        });
      case 'edit':
        return this.#change(runId, delta.callId, (item) => edited(item, delta.uri, delta.diff, delta.state));
      case 'question':
        return this.#change(runId, delta.callId, (item) => {
          item.status = 'asking';
          item.question ??= question(delta.title, delta.detail, delta.options);
        });
      case 'answer':
        return this.#change(runId, delta.callId, (item) => {
          item.status = 'running';
          if (!item.question) return;
          item.question.open = false;
          item.question.answer = { optionId: delta.optionId ?? null, reason: delta.reason ?? null };
        });
      case 'plan':
        return this.#plan(runId, delta.entries);
      case 'usage':
        run.usage = delta.usage;
        return;
      case 'log':
        return this.#log(runId, delta.source, delta.text);
      case 'retry':
        return this.#retry(runId, delta.reason, delta.waitSeconds);
      case 'omitted':
        return void this.#add(runId, { kind: 'note', text: `${delta.size} bytes of ${delta.what} were left out.`, tone: 'info', code: null }, by);
      case 'compacted':
        return void this.#add(runId, { kind: 'compacted', why: delta.why, before: delta.before, after: delta.after, summary: delta.summary });
      case 'diff':
        return void this.#add(runId, { kind: 'changes', text: delta.text, omitted: delta.omitted, edits: this.#edited(runId) });
      case 'ended':
        run.ended = true;
        return this.#end(runId, delta.status, delta.reason ?? '');
      default:
        return; // a kind that a newer server knows
    }
  }

  #say(runId: string, by: string, kind: 'text' | 'reasoning', text: string): void {
    const last = this.items.at(-1);
    if (last?.kind === kind && last.runId === runId && last.by === by && !last.voided) {
      last.text += text;
      this.#changed.add(last.id);
    } else if (text) {
      this.#add(runId, { kind, text, voided: false }, by);
    }
  }

  #output(runId: string, callId: string, text: string): void {
    this.#change(runId, callId, (item) => {
      if (item.status === 'requested') item.status = 'running';
      item.output += text;
      // Twice the bound before it is cut, so that a long output is not copied at each delta.
      if (item.output.length < 2 * MOST_OUTPUT) return;
      const cut = item.output.indexOf('\n', item.output.length - MOST_OUTPUT) + 1 || item.output.length - MOST_OUTPUT;
      item.omitted += cut;
      item.output = item.output.slice(cut);
    });
  }

  #plan(runId: string, entries: PlanEntryWire[]): void {
    const shown = this.items.findLast((item) => item.kind === 'plan' && item.runId === runId);
    if (shown?.kind === 'plan') {
      shown.entries = entries;
      this.#changed.add(shown.id);
    } else this.#add(runId, { kind: 'plan', entries });
  }

  #log(runId: string, source: string, text: string): void {
    const last = this.items.at(-1);
    // A decision is about a call, and is read there.
    const call = source === 'permissions' ? this.items.findLast((item) => item.runId === runId && item.kind === 'tool') : undefined;
    if (call?.kind === 'tool' && call.judged.length < MOST_JUDGED) {
      call.judged.push(text);
      return void this.#changed.add(call.id);
    }
    const line = `${source}: ${text}`;
    if (last?.kind !== 'log' || last.runId !== runId) return void this.#add(runId, { kind: 'log', lines: [line], left: 0 });
    last.lines.push(line);
    if (last.lines.length > MOST_LOG_LINES) {
      last.lines.shift();
      last.left += 1;
    }
    this.#changed.add(last.id);
  }

  /** The text and reasoning since the last call of a tool are void. */
  #retry(runId: string, reason: string, seconds: number): void {
    for (let at = this.items.length - 1; at >= 0; at -= 1) {
      const item = this.items[at];
      if (!item || item.runId !== runId || item.kind === 'tool' || item.kind === 'prompt') break;
      if (item.kind !== 'text' && item.kind !== 'reasoning') continue;
      item.voided = true;
      this.#changed.add(item.id);
    }
    const wait = seconds >= 1 ? ` in ${Math.round(seconds)} s` : '';
    this.#add(runId, { kind: 'note', text: `Once more${wait}: ${reason}`, tone: 'info', code: null });
  }

  #end(runId: string, status: string, reason: string): void {
    for (const item of this.items) {
      if (item.kind !== 'tool' || item.runId !== runId) continue;
      if (item.question?.open) item.question.open = false;
      if (['requested', 'asking', 'running'].includes(item.status)) item.status = 'stopped';
      this.#changed.add(item.id);
    }
    this.#add(runId, { kind: 'end', status, reason, usage: this.runs[runId]?.usage ?? null, edits: this.#edited(runId), failure: null });
  }

  /** The files that a run has changed. */
  #edited(runId: string): string[] {
    const edits = this.items.flatMap((item) => (item.kind === 'tool' && item.runId === runId ? item.edits : []));
    return [...new Set(edits.filter(({ state }) => state === 'applied').map(({ uri }) => uri))];
  }

  /** At the run's end, if it has one; a run that was refused never began. */
  #fail(runId: string, error: FailureWire): void {
    const end = this.items.findLast((item) => item.kind === 'end' && item.runId === runId);
    if (end?.kind !== 'end') return void this.#add(runId, { kind: 'note', text: error.error, tone: 'error', code: error.code });
    end.failure = error;
    this.#changed.add(end.id);
  }

  #ask(ask: AskParams): void {
    const known = this.tool(ask.runId, ask.callId);
    const item = known ?? this.#add(ask.runId, tool(ask.callId, 'question', ask.title, 'medium', {}));
    if (item.kind !== 'tool') return;
    item.status = 'asking';
    item.question = { ...question(ask.title, ask.detail, ask.options), wish: ask.wish ?? ask.title, diff: ask.diff ?? null, parts: ask.parts ?? [], allowsReason: ask.allowsReason, open: true };
    this.#changed.add(item.id);
  }

  #close(runId: string, callId: string): void {
    this.#change(runId, callId, (item) => {
      if (item.question) item.question.open = false;
    });
  }

  // ---- items

  #change(runId: string, callId: string, change: (item: ToolItem) => void): void {
    const item = this.tool(runId, callId) ?? this.#add(runId, tool(callId, 'tool', callId, 'low', {}));
    if (item.kind !== 'tool') return;
    change(item);
    this.#changed.add(item.id);
  }

  #add(runId: string, body: Body, by = ''): Item {
    const item: Item = { ...body, id: this.items.length, runId, by };
    this.items.push(item);
    this.#changed.add(item.id);
    return item;
  }
}

function tool(callId: string, name: string, title: string, risk: ToolItem['risk'], args: Record<string, unknown>): ToolItem {
  return {
    kind: 'tool', callId, name, title, risk, arguments: JSON.stringify(args, null, 2), status: 'requested',
    summary: '', output: '', omitted: 0, judged: [], question: null, edits: [],
  };
}

function question(title: string, detail: string, options: OptionWire[]): QuestionItem {
  return { title, wish: title, detail, options, diff: null, parts: [], allowsReason: false, open: false, answer: null };
}

function edited(item: ToolItem, uri: string, diff: string, state: EditItem['state']): void {
  const proposed = item.edits.find((edit) => edit.uri === uri && edit.state === 'proposed');
  if (proposed && state === 'applied') {
    proposed.diff = diff;
    proposed.state = state;
  } else item.edits.push({ uri, diff, state });
}
