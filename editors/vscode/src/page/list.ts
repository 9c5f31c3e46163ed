// The items that are in the page: appended, changed in place once a frame, and bounded in number.

import { Transcript, type Item, type RunState, type Step } from '../core/transcript.ts';
import { button, el } from './dom.ts';
import { viewOf, type ItemView, type Surroundings } from './items.ts';

/** More items than this are taken out of the page again at its top, while its end is followed. */
const MOST_SHOWN = 400;
const STEP = 200;
const NEAR = 60;

export class TranscriptList {
  readonly element = el('div', 'transcript', { role: 'log', 'aria-label': 'Transcript', 'aria-live': 'off', tabindex: '0' });
  /** What showing has cost so far, for measuring: milliseconds and steps. */
  readonly cost = { milliseconds: 0, steps: 0, frames: 0 };
  #around: Surroundings;
  #transcript = new Transcript();
  #views = new Map<number, ItemView>();
  #first = 0;
  #earlier: HTMLButtonElement;
  #latest: HTMLButtonElement;
  #waiting: Step[] = [];
  #frame = 0;
  #follow = true;

  constructor(around: Surroundings) {
    this.#around = around;
    this.#earlier = button('Show earlier', 'earlier link', () => this.#showEarlier());
    this.#latest = button('↓ Latest', 'latest', () => this.toEnd());
    this.#latest.hidden = true;
    this.element.append(this.#earlier);
    this.element.addEventListener('scroll', () => this.#scrolled(), { passive: true });
  }

  get latest(): HTMLButtonElement {
    return this.#latest;
  }

  get transcript(): Transcript {
    return this.#transcript;
  }

  /** Show another transcript. */
  reset(items: Item[], runs: Record<string, RunState>): void {
    this.#transcript = Transcript.from({ items, runs });
    this.#waiting = [];
    this.#views.clear();
    this.element.replaceChildren(this.#earlier);
    this.#first = Math.max(0, items.length - STEP);
    for (const item of items.slice(this.#first)) this.#append(item);
    this.#earlier.hidden = this.#first === 0;
    this.toEnd();
  }

  /** Take steps; they are shown with the next frame. */
  take(steps: Step[]): void {
    this.#waiting.push(...steps);
    // A page that is not visible gets no frames: a timer keeps the steps from piling up.
    this.#frame ||= document.hidden ? window.setTimeout(() => this.#show(), 200) : requestAnimationFrame(() => this.#show());
  }

  toEnd(): void {
    this.#follow = true;
    this.#latest.hidden = true;
    this.element.scrollTop = this.element.scrollHeight;
  }

  #show(): void {
    const began = performance.now();
    this.#frame = 0;
    const steps = this.#waiting;
    this.#waiting = [];
    for (const step of steps) this.#transcript.take(step);
    for (const id of this.#transcript.changes()) {
      const item = this.#transcript.items[id];
      if (!item || id < this.#first) continue;
      const view = this.#views.get(id);
      if (view) view.update(item);
      else this.#append(item);
    }
    if (this.#follow) {
      this.#trim();
      this.element.scrollTop = this.element.scrollHeight;
    } else this.#latest.hidden = false;
    this.cost.milliseconds += performance.now() - began;
    this.cost.steps += steps.length;
    this.cost.frames += 1;
  }

  #append(item: Item): void {
    this.element.append(this.#made(item).element);
  }

  #made(item: Item): ItemView {
    const view = viewOf(item, this.#around);
    view.update(item);
    view.element.dataset['item'] = String(item.id);
    this.#views.set(item.id, view);
    return view;
  }

  #trim(): void {
    while (this.#views.size > MOST_SHOWN) {
      this.#views.get(this.#first)?.element.remove();
      this.#views.delete(this.#first);
      this.#first += 1;
      this.#earlier.hidden = false;
    }
  }

  #showEarlier(): void {
    const height = this.element.scrollHeight;
    const from = Math.max(0, this.#first - STEP);
    const items = this.#transcript.items.slice(from, this.#first);
    this.#first = from;
    this.#earlier.after(...items.map((item) => this.#made(item).element));
    this.#earlier.hidden = from === 0;
    this.#follow = false;
    this.element.scrollTop += this.element.scrollHeight - height;
  }

  #scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    this.#follow = scrollHeight - scrollTop - clientHeight < NEAR;
    if (this.#follow) this.#latest.hidden = true;
  }
}
