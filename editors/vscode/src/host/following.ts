// The shown session, followed as other windows run it: the host tells their deltas like our own. One at a time.

import type { Host } from './host.ts';
import type { Session } from './session.ts';

export class Following {
  #host: Host;
  #session: Session | null = null;
  #attached = false;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Whether runs of that session that we have not begun may be another window's. */
  follows(session: Session): boolean {
    return session === this.#session && this.#attached;
  }

  /** Hear what other windows do with a session, from where it is known; returns once that was told. Rejects with a Refusal. */
  async follow(session: Session): Promise<void> {
    await this.leave();
    const { id: sessionId, cursor, seen } = session;
    if (!sessionId || !this.#host.has('agent/session/attach')) return;
    this.#session = session;
    this.#attached = true;
    try {
      const { runId } = await this.#host.request('agent/session/attach', { sessionId, ...(cursor ? { cursor } : seen ? { after: seen } : {}) });
      if (this.#session === session) session.goesOnElsewhere(runId ?? undefined);
    } catch (error) {
      if (this.#session === session) this.#attached = false;
      throw error;
    }
  }

  /** Follow it no longer. */
  async leave(): Promise<void> {
    const session = this.#session;
    const attached = this.#attached;
    this.#session = null;
    this.#attached = false;
    if (!session?.id || !attached) return;
    session.elsewhere = undefined;
    await this.#host.request('agent/session/detach', { sessionId: session.id }).catch(() => {}); // it is gone then, too
  }

  /** The host has ended it, or is gone itself; returns the session that was followed. */
  lost(sessionId?: string): Session | null {
    const session = this.#session;
    if (!session || !this.#attached || (sessionId !== undefined && session.id !== sessionId)) return null;
    this.#attached = false;
    session.elsewhere = undefined;
    return session;
  }

  /** A host is there again: what it follows for us is as before. */
  async again(): Promise<void> {
    if (this.#session && !this.#attached) await this.follow(this.#session);
  }

  /** What a run of another window was asked, which its deltas do not say. */
  async promptOf(session: Session, runId: string): Promise<string | null> {
    if (!session.id) return null;
    for (let more = true; more;) {
      const page = await this.#host.request('agent/session/load', { sessionId: session.id, limit: 1000, ...(session.cursor ? { cursor: session.cursor } : {}) });
      const found = page.runs.find((each) => each.runId === runId);
      if (found) return found.prompt;
      if (page.cursor === session.cursor) return null;
      session.cursor = page.cursor;
      ({ more } = page);
    }
    return null;
  }
}
