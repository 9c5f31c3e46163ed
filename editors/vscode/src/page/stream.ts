// Markdown that grows: finished blocks are made once, and of the end of the text only the blocks that changed.

import { parse, stableCut } from '../core/markdown.ts';
import { blockElement, type Hands } from './dom.ts';
import { GrowingText } from './growing.ts';

/** The tail may not grow without bound: a paragraph of this size is cut at its last space. */
const LONGEST_TAIL = 16_000;

export class MarkdownStream {
  readonly element: HTMLElement;
  #hands: Hands;
  #tail: HTMLElement;
  /** What each block of the tail was made of. */
  #made: string[] = [];
  #cut = 0;
  #length = 0;
  #openCode: GrowingText | null = null;

  constructor(hands: Hands, className = 'markdown') {
    this.#hands = hands;
    this.element = document.createElement('div');
    this.element.className = className;
    this.#tail = document.createElement('div');
    this.#tail.className = 'tail';
    this.element.append(this.#tail);
  }

  /** Show the text, which begins with the text shown before. */
  show(text: string): void {
    if (text.length === this.#length) return;
    const added = text.slice(this.#length);
    this.#length = text.length;
    if (this.#openCode && !/[`~\r\u001b\u009b]/.test(added)) return this.#openCode.append(added);
    this.#settle(text);
    this.#showTail(text.slice(this.#cut));
  }

  #showTail(text: string): void {
    const rest = parse(text);
    const keys = rest.map((block) => JSON.stringify(block));
    let same = 0;
    while (same < keys.length && keys[same] === this.#made[same]) same += 1;
    // What is appended to by hand is not what its block says any more.
    if (this.#openCode) same = Math.min(same, this.#made.length - 1);
    while (this.#tail.childNodes.length > same) this.#tail.lastChild?.remove();
    this.#tail.append(...rest.slice(same).map((block) => blockElement(block, this.#hands)));
    this.#made = keys;
    this.#openCode = null;
    const last = rest.at(-1);
    if (last?.kind !== 'code' || !last.open || last.language === 'diff' || last.language === 'patch' || /[\r\u001b\u009b]/.test(last.text)) return;
    const code = this.#tail.lastElementChild?.querySelector<HTMLElement>('pre code');
    if (!code) return;
    this.#openCode = new GrowingText(code);
    this.#openCode.set(last.text);
  }

  #settle(text: string): void {
    let cut = stableCut(text, this.#cut);
    if (text.length - cut > LONGEST_TAIL && !/^ {0,3}(`{3}|~{3})/m.test(text.slice(cut))) cut = Math.max(cut, text.lastIndexOf(' ', text.length - LONGEST_TAIL / 2) + 1);
    if (cut <= this.#cut) return;
    // What stands in the tail already is moved as it is: a selection in it stays.
    let same = true;
    for (const [at, block] of parse(text.slice(this.#cut, cut)).entries()) {
      same &&= JSON.stringify(block) === this.#made[at];
      this.element.insertBefore(same && this.#tail.firstElementChild ? this.#tail.firstElementChild : blockElement(block, this.#hands), this.#tail);
    }
    this.#cut = cut;
    this.#made = [];
    this.#openCode = null;
    this.#tail.replaceChildren();
  }
}
