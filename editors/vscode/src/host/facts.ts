// What the view tells beside a session: whether the model can be used, the last sessions, the guidance that counts.
// Asked of the host when something may have changed, and never waited for.

import * as vscode from 'vscode';
import type { GuidanceAnswer, ModelWire, PromptFileWire, SessionWire } from '../wire.ts';
import type { Host } from './host.ts';
import type { Sessions } from './sessions.ts';

export class Facts implements vscode.Disposable {
  #host: Host;
  #models: readonly ModelWire[] | null = null;
  #changed = new vscode.EventEmitter<void>();
  #disposables: vscode.Disposable[];
  recent: readonly SessionWire[] = [];
  guidance: GuidanceAnswer | null = null;
  prompts: readonly PromptFileWire[] = [];
  readonly onDidChange = this.#changed.event;

  constructor(host: Host, sessions: Sessions) {
    this.#host = host;
    this.#disposables = [
      this.#changed,
      host.onDidChange(({ status }) => status === 'ready' && void this.refresh()),
      sessions.onDidChangeList(() => void this.#readRecent().then(() => this.#changed.fire())),
    ];
  }

  dispose(): void {
    for (const each of this.#disposables) each.dispose();
  }

  async refresh(): Promise<void> {
    await Promise.all([this.#readModels(), this.#readRecent(), this.readGuidance()]);
    this.#changed.fire();
  }

  /** Why a model can't be used, in one sentence; "" if it can or nothing is known. No name: the first that has a key. */
  modelProblem(name: string): string {
    if (!this.#models) return '';
    if (!name) return this.#models.some(({ usable }) => usable) ? '' : 'No model can be used yet: no vendor has a key.';
    const known = this.#models.find((each) => each.name === name) ?? this.#models.find(({ provider }) => name.startsWith(`${provider}/`));
    return known && !known.usable ? (known.reason ?? `${name} can't be used.`) : '';
  }

  /** Read again what counts here; files may have changed. */
  async readGuidance(): Promise<void> {
    if (this.#host.has('agent/guidance')) this.guidance = await this.#host.request('agent/guidance', {}).catch(() => null);
    if (!this.#host.has('agent/prompts')) return;
    const { prompts, problems } = await this.#host.request('agent/prompts', {}).catch(() => ({ prompts: this.prompts, problems: [] }));
    this.prompts = prompts;
    if (this.guidance) this.guidance.problems.push(...problems.filter(({ source }) => !this.guidance?.problems.some((each) => each.source === source)));
  }

  async #readModels(): Promise<void> {
    this.#models = await this.#host.request('agent/models', {}).then(({ models }) => models, () => null);
  }

  async #readRecent(): Promise<void> {
    this.recent = await this.#host.request('agent/session/list', { limit: 5 }).then(({ sessions }) => sessions, () => this.recent);
  }
}
