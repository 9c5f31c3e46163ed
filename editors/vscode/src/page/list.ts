// The items that are in the page: appended, changed in place once a frame, and bounded in number. The end is followed
// until the person looks elsewhere.

import { Transcript, type Item, type RunState, type Step } from '../core/transcript.ts';
import { button, el, labelled } from './dom.ts';
import { viewOf, type ItemView, type Surroundings } from './items.ts';

/** More items than this are taken out of the page again at its top, while its end is followed. */
const MOST_SHOWN = 400;
/** While it is not, more than this are not put in below: they come as the person goes on. */
const MOST_UNFOLLOWED = 800;
const STEP = 200;
const NEAR = 48;

export class TranscriptList {
  readonly element = el('div', 'transcript', { role: 'log', 'aria-label': 'Transcript', 'aria-live': 'off', tabindex: '0' });
  readonly latest = labelled('down', 'Latest', 'latest', () => this.toEnd());
  /** What showing has cost so far, for measuring: milliseconds and steps. */
  readonly cost = { milliseconds: 0, steps: 0, frames: 0 };
  #around: Surroundings;
  #changed: (items: Item[]) => void;
  #transcript = new Transcript();
  #views = new Map<number, ItemView>();
  #items = el('div', 'items');
  /** The items from `first` to before `end` are in the page. */
  #first = 0;
  #end = 0;
  #earlier: HTMLButtonElement;
  #waiting: Step[] = [];
  #frame = 0;
  #follow = true;
  #top = 0;

  /** `changed` is told of items that are new or others, before they are shown. */
  constructor(around: Surroundings, changed: (items: Item[]) => void) {
    this.#around = around;
    this.#changed = changed;
    this.#earlier = button('Show earlier', 'earlier link', () => this.#showEarlier());
    this.latest.hidden = true;
    this.element.append(this.#earlier, this.#items);
    this.element.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    // Heights are known late (fonts, items out of sight, a question that opens below): the end is found anew.
    const sizes = new ResizeObserver(() => this.#follow && this.#stick());
    sizes.observe(this.#items);
    sizes.observe(this.element);
  }

  get transcript(): Transcript {
    return this.#transcript;
  }

  /** Whether there is nothing to show, now or with the next frame. */
  get empty(): boolean {
    return this.#transcript.items.length === 0 && this.#waiting.length === 0;
  }

  /** Show another transcript. */
  reset(items: Item[], runs: Record<string, RunState>): void {
    this.#transcript = Transcript.from({ items, runs });
    this.#waiting = [];
    this.#views.clear();
    this.#showLast();
    this.toEnd();
  }

  /** Take steps; they are shown with the next frame. */
  take(steps: Step[]): void {
    this.#waiting.push(...steps);
    // A page that is not visible gets no frames: a timer keeps the steps from piling up.
    this.#frame ||= document.hidden ? window.setTimeout(() => this.#show(), 200) : requestAnimationFrame(() => this.#show());
  }

  toEnd(): void {
    if (this.#end < this.#transcript.items.length) this.#showLast();
    this.#follow = true;
    this.latest.hidden = true;
    this.#stick();
  }

  #show(): void {
    const began = performance.now();
    this.#frame = 0;
    const steps = this.#waiting;
    this.#waiting = [];
    for (const step of steps) this.#transcript.take(step);
    const changed = this.#transcript.changes().map((id) => this.#transcript.items[id]).filter((item) => item !== undefined);
    this.#changed(changed);
    for (const item of changed) {
      this.#views.get(item.id)?.update(item);
      if (item.id === this.#end && (this.#follow || this.#views.size < MOST_UNFOLLOWED)) this.#append(1);
    }
    if (this.#follow) this.#trim();
    else this.latest.hidden = false;
    this.cost.milliseconds += performance.now() - began;
    this.cost.steps += steps.length;
    this.cost.frames += 1;
  }

  #showLast(): void {
    this.#views.clear();
    this.#items.replaceChildren();
    this.#first = Math.max(0, this.#transcript.items.length - STEP);
    this.#end = this.#first;
    this.#append(STEP);
    this.#earlier.hidden = this.#first === 0;
  }

  #append(count: number): void {
    const items = this.#transcript.items.slice(this.#end, this.#end + count);
    this.#end += items.length;
    this.#items.append(...items.map((item) => this.#made(item).element));
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
    const place = this.#views.get(this.#first)?.element;
    const top = place?.getBoundingClientRect().top ?? 0;
    const from = Math.max(0, this.#first - STEP);
    const items = this.#transcript.items.slice(from, this.#first);
    this.#first = from;
    this.#items.prepend(...items.map((item) => this.#made(item).element));
    this.#earlier.hidden = from === 0;
    this.#follow = false;
    if (place) this.element.scrollTop += place.getBoundingClientRect().top - top;
  }

  #stick(): void {
    this.element.scrollTop = this.element.scrollHeight;
    this.#top = this.element.scrollTop;
  }

  /** Only what moves up is the person's: that the text grows below moves nothing. */
  #scrolled(): void {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const near = scrollHeight - scrollTop - clientHeight < NEAR;
    if (near && this.#end < this.#transcript.items.length) this.#append(STEP);
    else if (near) this.#follow = true;
    else if (scrollTop < this.#top) this.#follow = false;
    this.#top = scrollTop;
    if (this.#follow) this.latest.hidden = true;
  }
}
