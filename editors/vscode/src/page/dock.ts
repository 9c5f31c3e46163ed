// Between transcript and prompt, always in sight: the question that is open, and what goes on. Not here: the card itself.

import { plain } from '../core/plain.ts';
import type { State } from '../core/protocol.ts';
import type { Item, ToolItem, Transcript } from '../core/transcript.ts';
import { el } from './dom.ts';
import type { Surroundings } from './items.ts';
import { questionElement } from './question.ts';

type Asking = ToolItem & Item;

export class Dock {
  readonly element: HTMLElement;
  #around: Surroundings;
  #release: () => void;
  #cards = el('div', 'cards');
  #count = el('div', 'dim count');
  #activity = el('div', 'activity');
  #doing = el('span', 'doing');
  #elapsed = el('span', 'dim', { 'aria-hidden': 'true' });
  #asking = new Map<number, Asking>();
  #shown = '';
  #running = false;
  #since: number | null = null;
  #clock = 0;

  /** `release` takes the keyboard when the card that had it is gone. */
  constructor(around: Surroundings, release: () => void) {
    this.#around = around;
    this.#release = release;
    this.#activity.append(el('span', 'spinner', { 'aria-hidden': 'true' }), this.#doing, this.#elapsed);
    this.#activity.hidden = true;
    this.#count.hidden = true;
    this.element = el('div', 'dock', {}, this.#activity, this.#count, this.#cards);
  }

  /** Another transcript is shown. */
  reset(items: Item[]): void {
    this.#asking.clear();
    this.#since = null;
    this.#running = false;
    this.changed(items);
  }

  /** These items are new or others. */
  changed(items: Iterable<Item>): void {
    for (const item of items) {
      if (item.kind !== 'tool') continue;
      if (item.question?.open) this.#asking.set(item.id, item);
      else this.#asking.delete(item.id);
    }
    this.#showCard();
  }

  /** Say what goes on. `fresh`: it begins now, so that its time is known. */
  update(state: State, transcript: Transcript, fresh: boolean): void {
    const running = state.running || state.elsewhere;
    if (running && !this.#running && fresh) this.#since = performance.now();
    if (!running) this.#since = null;
    this.#running = running;
    this.#activity.hidden = !running;
    this.#activity.classList.toggle('waits', this.#asking.size > 0);
    this.#doing.textContent = running ? plain(this.#around.shortened(doing(state, transcript, this.#asking.size))) : '';
    if (running && !this.#clock) this.#clock = window.setInterval(() => this.#tick(), 1000);
    this.#tick();
  }

  #tick(): void {
    if (!this.#running) {
      window.clearInterval(this.#clock);
      this.#clock = 0;
    }
    const seconds = this.#since === null ? 0 : Math.floor((performance.now() - this.#since) / 1000);
    this.#elapsed.textContent = seconds < 3 ? '' : seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }

  #showCard(): void {
    const first = this.#asking.values().next().value;
    this.#count.hidden = this.#asking.size < 2;
    this.#count.textContent = `1 of ${this.#asking.size} questions`;
    const told = first ? JSON.stringify([first.id, first.question?.title, first.question?.parts.length]) : '';
    if (told === this.#shown) return;
    const had = this.#cards.contains(document.activeElement);
    this.#shown = told;
    this.#cards.replaceChildren(...(first?.question ? [questionElement(first, first.question, this.#around)] : []));
    if (!had) return;
    const next = this.#cards.querySelector<HTMLButtonElement>('.buttons button');
    if (next) next.focus();
    else this.#release();
  }
}

function doing({ stopping, connection }: State, transcript: Transcript, asking: number): string {
  if (stopping) return 'Stopping…';
  if (asking) return 'Waiting for you';
  if (connection.status === 'starting') return 'Waiting for the server…';
  const last = transcript.items.at(-1);
  if (last?.kind === 'tool' && last.status === 'asking') return 'Waiting for an answer in the other window';
  if (last?.kind === 'reasoning') return 'Thinking…';
  if (last?.kind === 'tool' && ['requested', 'running'].includes(last.status)) return `${last.title}…`;
  return 'Working…';
}
