// All sessions of this window, and the one that is shown: runs, stops, steers, loads, and takes what the host tells.

import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import type { AgentDelta, AskAnswer, AskParams, DetachedParams, RunParams } from '../wire.ts';
import type { Step } from '../core/transcript.ts';
import { Following } from './following.ts';
import { Refusal, type Host, type Listener } from './host.ts';
import { Session, type OpenQuestion } from './session.ts';

export type Prompt = RunParams['prompt'];

export interface Prepared { prompt: Prompt; context: NonNullable<RunParams['context']> }

/** What changed: steps of a session's transcript, all of it, or what stands around it. */
export type Change = { kind: 'steps'; session: Session; steps: Step[] } | { kind: 'all'; session: Session } | { kind: 'state' };

export class Sessions implements Listener, vscode.Disposable {
  #host!: Host;
  #following!: Following;
  #byRun = new Map<string, Session>();
  #all = new Map<string, Session>();
  #changed = new vscode.EventEmitter<Change>();
  #asked = new vscode.EventEmitter<{ session: Session; question: OpenQuestion }>();
  #listChanged = new vscode.EventEmitter<void>();
  #handedBack = new vscode.EventEmitter<string>();
  #keys = 0;
  current: Session;
  readonly onDidChange = this.#changed.event;
  /** A question is open; it may be answered by `OpenQuestion.settle`. */
  readonly onDidAsk = this.#asked.event;
  /** The kept sessions are others than before. */
  readonly onDidChangeList = this.#listChanged.event;
  /** What was said and no run has taken. */
  readonly onDidHandBack = this.#handedBack.event;

  constructor() {
    this.current = this.#made();
  }

  connect(host: Host): void {
    this.#host = host;
    this.#following = new Following(host);
    host.onDidChange(({ status }) => status === 'ready' && void this.#following.again().then(() => this.#state(), () => {}));
  }

  get running(): Session[] {
    return [...this.#all.values()].filter((session) => session.running);
  }

  get questions(): { session: Session; question: OpenQuestion }[] {
    return [...this.#all.values()].flatMap((session) => [...session.questions.values()].map((question) => ({ session, question })));
  }

  byId(sessionId: string): Session | undefined {
    return [...this.#all.values()].find(({ id }) => id === sessionId);
  }

  // ---- which one is shown

  fresh(): Session {
    const { role, model } = this.current;
    void this.#following.leave();
    this.#forgetIdle();
    this.current = this.#made();
    Object.assign(this.current, { role, model });
    this.#changed.fire({ kind: 'all', session: this.current });
    return this.current;
  }

  show(session: Session): void {
    if (session !== this.current) void this.#following.leave();
    this.current = session;
    this.#changed.fire({ kind: 'all', session });
  }

  /** Show a kept session with its past, and what other windows do with it from now on. */
  async open(sessionId: string, title: string): Promise<void> {
    let session = this.byId(sessionId);
    if (!session) {
      session = this.#made(sessionId);
      session.title = title;
    }
    // What was shown before may have gone on elsewhere meanwhile.
    const isKnown = session.running || this.#following.follows(session);
    this.show(session);
    if (isKnown) return;
    session.hold();
    session.clear();
    try {
      await this.#load(session, sessionId);
      session.loaded = true;
    } finally {
      session.release();
    }
    await this.#find(session, sessionId);
    if (session === this.current) await this.#following.follow(session);
    this.#changed.fire({ kind: 'all', session });
  }

  // ---- what the person does

  /** Send a prompt to the shown session: as a run, or to the run that goes on. */
  async send(text: string, prepared: Prepared, when: 'now' | 'next'): Promise<void> {
    const session = this.current;
    if (session.running) return this.#steer(session, text, prepared.prompt, when);
    const runId = randomUUID();
    session.runId = runId;
    session.title ||= text.replace(/\s+/g, ' ').slice(0, 80);
    this.#byRun.set(runId, session);
    this.#step(session, { step: 'prompt', runId, text, steered: false });
    this.#state();
    const params: RunParams = {
      ...prepared, runId, workDoneToken: runId,
      ...(session.id ? { sessionId: session.id } : {}),
      ...(session.role ? { role: session.role } : {}),
      ...(session.model ? { model: session.model } : {}),
    };
    try {
      const { sessionId, error } = await this.#host.request('agent/run', params);
      session.id = sessionId;
      if (error) this.#step(session, { step: 'failure', runId, error });
    } catch (error) {
      this.#failed(session, runId, error);
    } finally {
      this.#over(session, runId);
    }
  }

  /** Stop a session's run; returns once it is gone. What waited is handed back. */
  async stop(session = this.current): Promise<void> {
    const { runId } = session;
    if (!runId) return;
    session.stopping = true;
    this.#state();
    try {
      const { handedBack } = await this.#host.request('agent/stop', { runId });
      session.pending = [];
      for (const { prompt } of handedBack ?? []) this.#handedBack.fire(prompt);
    } catch (error) {
      session.stopping = false;
      if (error instanceof Refusal && error.failure.code === 'run_not_found') this.#over(session, runId);
      else throw error;
    } finally {
      this.#state();
    }
  }

  async unqueue(id: string): Promise<void> {
    const session = this.current;
    if (!session.id) return;
    await this.#host.request('agent/steer/remove', { sessionId: session.id, id });
    // Not by reading the list: what vanishes from that was taken by the run.
    session.pending = session.pending.filter((each) => each.id !== id);
    this.#state();
  }

  forgotten(sessionId: string): void {
    const session = this.byId(sessionId);
    if (session) this.#all.delete(session.key);
    if (session === this.current) this.fresh();
    this.#listChanged.fire();
  }

  /** What was asked for in a run of the shown session. */
  promptOf(runId: string): string | null {
    const item = this.current.transcript.items.findLast((each) => each.kind === 'prompt' && each.runId === runId && !each.steered);
    return item?.kind === 'prompt' ? item.text : null;
  }

  note(session: Session, text: string): void {
    this.#step(session, { step: 'note', runId: session.runId ?? '', text });
  }

  /** Tell the page and the views that something around the transcript is another. */
  touch(): void {
    this.#state();
  }

  listChanged(): void {
    this.#listChanged.fire();
  }

  // ---- what the host tells

  delta(delta: AgentDelta): void {
    const session = this.#byRun.get(delta.runId) ?? this.byId(delta.sessionId) ?? this.#made(delta.sessionId);
    session.id ??= delta.sessionId;
    const { kind } = delta.delta;
    if (kind === 'started' && this.#mayBeElsewhere(session, delta.runId)) void this.#beganSomewhere(session, delta.runId);
    else if (kind === 'started') this.#began(session, delta.runId);
    this.#step(session, { step: 'delta', delta });
    if (kind === 'ended' && session.runId === delta.runId) this.#over(session, delta.runId);
    if (kind === 'ended' && session.elsewhere === delta.runId) this.#overElsewhere(session);
    // What steers is taken before the next call of the model, which comes after a result.
    if (session.pending.length && (kind === 'toolResult' || kind === 'usage')) void this.#refreshPending(session, delta.runId);
  }

  ask(ask: AskParams, token: vscode.CancellationToken): Promise<AskAnswer> {
    const session = this.#byRun.get(ask.runId) ?? this.byId(ask.sessionId) ?? this.#made(ask.sessionId);
    return new Promise((resolve) => {
      const name = `${ask.runId} ${ask.callId}`;
      const settle = (answer: AskAnswer): void => {
        if (!session.questions.delete(name)) return;
        withdrawn.dispose();
        this.#step(session, { step: 'closed', runId: ask.runId, callId: ask.callId });
        this.#state();
        resolve(answer);
      };
      const question: OpenQuestion = { ask, settle };
      const withdrawn = token.onCancellationRequested(() => settle({}));
      session.questions.set(name, question);
      this.#step(session, { step: 'ask', ask });
      this.#state();
      this.#asked.fire({ session, question });
    });
  }

  /** The host follows a session no longer. */
  detached({ sessionId, reason }: DetachedParams): void {
    const session = this.#following.lost(sessionId);
    if (!session) return;
    this.note(session, `What other windows do with this session is not shown any more: ${reason}`);
    this.#state();
  }

  gone(): void {
    this.#following.lost();
    for (const session of this.#all.values()) {
      for (const question of session.questions.values()) question.settle({});
      session.pending = [];
      if (!session.runId) continue;
      this.#step(session, { step: 'failure', runId: session.runId, error: { error: 'The server has stopped, and the run with it. What was done is kept; send a prompt to go on.', code: 'host_gone' } });
      session.over(session.runId);
    }
    this.#state();
  }

  dispose(): void {
    for (const emitter of [this.#changed, this.#asked, this.#listChanged, this.#handedBack]) emitter.dispose();
  }

  // ---- inside

  #made(id?: string): Session {
    this.#keys += 1;
    const session = new Session(`s${this.#keys}`, id);
    this.#all.set(session.key, session);
    return session;
  }

  /** A run that the host began by itself took the first of what waited. */
  #began(session: Session, runId: string): void {
    if (session.runId === runId) return;
    session.runId = runId;
    this.#byRun.set(runId, session);
    const waiting = session.firstPending();
    if (waiting) this.#step(session, { step: 'prompt', runId, text: waiting.prompt, steered: false });
    this.#state();
  }

  /** Whether a run of a session that is followed may be another window's: nothing was sent from here. */
  #mayBeElsewhere(session: Session, runId: string): boolean {
    return this.#following.follows(session) && !this.#byRun.has(runId) && !(runId in session.transcript.runs) && !session.running && session.pending.length === 0;
  }

  /** A run that nothing was sent for from here: of another window, or of our host by itself. */
  async #beganSomewhere(session: Session, runId: string): Promise<void> {
    session.hold();
    try {
      await this.#find(session, session.id ?? '');
      const prompt = session.runId === runId ? null : await this.#following.promptOf(session, runId);
      if (prompt !== null) session.transcript.take({ step: 'prompt', runId, text: prompt, steered: false });
    } catch (error) {
      session.transcript.take({ step: 'note', runId, text: `What this run was asked can't be read: ${String(error)}` });
    } finally {
      session.release();
    }
    if (session.transcript.runs[runId]?.ended) session.over(runId);
    else if (session.runId !== runId) session.goesOnElsewhere(runId);
    this.#changed.fire({ kind: 'all', session });
    this.#listChanged.fire();
  }

  #overElsewhere(session: Session): void {
    session.elsewhere = undefined;
    this.#state();
    this.#listChanged.fire();
  }

  async #steer(session: Session, text: string, prompt: Prompt, when: 'now' | 'next'): Promise<void> {
    if (!session.id) throw new Refusal({ error: 'The run has not begun yet; try again in a moment.', code: 'session_busy' });
    const { accepted, id, runId } = await this.#host.request('agent/steer', { sessionId: session.id, prompt, when });
    if (accepted === 'started' && runId) {
      session.pending.unshift({ id, prompt: text, when: 'now' });
      this.#began(session, runId);
      return;
    }
    // An agent that can't hear it now gets it next.
    session.pending.push({ id, prompt: text, when: accepted === 'queued' ? 'next' : when });
    this.#state();
  }

  async #refreshPending(session: Session, runId: string): Promise<void> {
    // What vanishes while it stops was taken by nobody: it is handed back.
    if (!session.id || session.stopping) return;
    const { pending } = await this.#host.request('agent/steer/list', { sessionId: session.id }).catch(() => ({ pending: session.pending }));
    if (session.stopping) return; // that the run is over meanwhile changes nothing of what it took
    const waits = new Set(pending.map(({ id }) => id));
    const taken = session.pending.filter(({ id, when }) => when === 'now' && !waits.has(id));
    if (!taken.length) return;
    session.pending = session.pending.filter((each) => !taken.includes(each));
    for (const { prompt } of taken) this.#step(session, { step: 'prompt', runId, text: prompt, steered: true });
    this.#state();
  }

  async #load(session: Session, sessionId: string): Promise<void> {
    let cursor: string | undefined;
    for (let more = true; more;) {
      const page = await this.#host.request('agent/session/load', { sessionId, limit: 1000, ...(cursor ? { cursor } : {}) });
      const prompts = new Map(page.runs.map(({ runId, prompt }) => [runId, prompt]));
      for (const delta of page.deltas) {
        const prompt = delta.seq === 1 ? prompts.get(delta.runId) : undefined;
        if (prompt !== undefined) session.transcript.take({ step: 'prompt', runId: delta.runId, text: prompt, steered: false });
        session.transcript.take({ step: 'delta', delta });
      }
      for (const { uri, outcome } of page.cutShort ?? []) {
        const became = { made: 'was made all the same', notMade: 'was not made', unknown: 'may have been made; look at the file' }[outcome];
        session.transcript.take({ step: 'note', runId: '', text: `The server ended during an edit of ${decodeURIComponent(uri).split('/').at(-1) ?? uri}: it ${became}.` });
      }
      session.cursor = page.cursor;
      if (page.cursor === cursor) return;
      ({ cursor, more } = page);
    }
  }

  /** Whether a loaded session runs in this host. */
  async #find(session: Session, sessionId: string): Promise<void> {
    const { sessions } = await this.#host.request('agent/status', {});
    const runId = sessions.find((each) => each.sessionId === sessionId)?.runId;
    if (!runId) return;
    session.runId = runId;
    this.#byRun.set(runId, session);
  }

  #failed(session: Session, runId: string, error: unknown): void {
    const failure = error instanceof Refusal ? error.failure : { error: String(error), code: 'failed' };
    // A host that is gone has been told already, with all that went with it.
    if (session.runId === runId) this.#step(session, { step: 'failure', runId, error: failure });
    // Who has it meanwhile is shown with what is done there.
    if (failure.code === 'session_busy' && session === this.current && !this.#following.follows(session)) void this.#following.follow(session).then(() => this.#state(), () => {});
  }

  #over(session: Session, runId: string): void {
    if (session.runId !== runId) return;
    session.over(runId);
    this.#state();
    this.#listChanged.fire();
  }

  #step(session: Session, step: Step): void {
    if (session.take(step)) this.#changed.fire({ kind: 'steps', session, steps: [step] });
  }

  #state(): void {
    this.#changed.fire({ kind: 'state' });
  }

  /** What was shown once and does nothing can be read from the host again. */
  #forgetIdle(): void {
    const runs = (wanted: Session): void => {
      for (const [runId, session] of this.#byRun) if (session === wanted) this.#byRun.delete(runId);
    };
    for (const session of this.#all.values()) {
      if (session.running || session.questions.size) continue;
      this.#all.delete(session.key);
      runs(session);
    }
  }
}
