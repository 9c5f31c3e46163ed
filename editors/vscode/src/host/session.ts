// One session as this editor knows it: its transcript, its run, what waits. Not here: what is asked of the host.

import type { AskAnswer, AskParams, Seen, WaitingWire } from '../wire.ts';
import type { Attachment } from '../core/protocol.ts';
import { Transcript, type Step } from '../core/transcript.ts';

export interface OpenQuestion { ask: AskParams; settle(answer: AskAnswer): void }

export class Session {
  /** Of this object; the host's id comes with the first delta of a new session. */
  readonly key: string;
  id: string | undefined;
  title = '';
  /** The role and the model that the person chose for the next run; none: what the settings say. */
  role = '';
  model = '';
  runId: string | undefined;
  /** A run of it that goes on in another window. */
  elsewhere: string | undefined;
  /** Up to where its past was read. */
  cursor: string | undefined;
  stopping = false;
  /** Whether the transcript holds the past. */
  loaded: boolean;
  pending: WaitingWire[] = [];
  /** What went with the prompts of runs, to be sent with them again. */
  readonly attached = new Map<string, readonly Attachment[]>();
  transcript = new Transcript();
  readonly questions = new Map<string, OpenQuestion>();
  /** Deltas that come while the past is being read. */
  #held: Step[] | null = null;

  constructor(key: string, id?: string) {
    this.key = key;
    this.id = id;
    this.loaded = id === undefined;
  }

  get running(): boolean {
    return this.runId !== undefined;
  }

  /** Take a step; false: it is held until the past is there. */
  take(step: Step): boolean {
    if (this.#held) {
      this.#held.push(step);
      return false;
    }
    this.transcript.take(step);
    return true;
  }

  /** From now on steps are held, until `release`. */
  hold(): void {
    this.#held ??= [];
  }

  /** What is shown is forgotten: the past is read anew. */
  clear(): void {
    this.transcript = new Transcript();
    this.cursor = undefined;
    this.elsewhere = undefined;
  }

  /** The last delta that is known. */
  get seen(): Seen | undefined {
    const last = Object.entries(this.transcript.runs).at(-1);
    return last && { runId: last[0], seq: last[1].seq };
  }

  /** The past is there: what was held comes after it. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const step of held) this.transcript.take(step);
    this.transcript.changes();
  }

  /** A run that another window has begun goes on, unless its end was told already; none: nothing goes on there. */
  goesOnElsewhere(runId: string | undefined): void {
    this.elsewhere = runId !== undefined && this.transcript.runs[runId]?.ended ? undefined : runId;
  }

  /** The run is over, one way or the other. */
  over(runId: string): void {
    if (this.runId !== runId) return;
    this.runId = undefined;
    this.stopping = false;
  }

  /** The prompt that the next run of the host's own takes: what was for the last one, then what was queued. */
  firstPending(): WaitingWire | undefined {
    const at = Math.max(0, this.pending.findIndex(({ when }) => when === 'now'));
    return this.pending.splice(at, 1)[0];
  }
}
