// Markdown that grows: finished blocks are made once, only the end of the text is made anew.

import { parse, stableCut } from '../core/markdown.ts';
import { blockElement, type Hands } from './dom.ts';

/** The tail may not grow without bound: a paragraph of this size is cut at its last space. */
const LONGEST_TAIL = 16_000;

export class MarkdownStream {
  readonly element: HTMLElement;
  #hands: Hands;
  #tail: HTMLElement;
  #cut = 0;
  #length = 0;
  #openCode: { node: Text; length: number } | null = null;

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
    if (this.#openCode && !/[`~]/.test(added)) return this.#openCode.node.appendData(added);
    this.#settle(text);
    const rest = parse(text.slice(this.#cut));
    this.#tail.replaceChildren(...rest.map((block) => blockElement(block, this.#hands)));
    this.#openCode = null;
    const only = rest.at(-1);
    if (rest.length === 1 && only?.kind === 'code' && only.open && only.language !== 'diff' && !/[\r\u001b\u009b]/.test(only.text)) {
      const node = this.#tail.querySelector('pre code')?.firstChild;
      if (node instanceof Text) this.#openCode = { node, length: only.text.length };
    }
  }

  #settle(text: string): void {
    let cut = stableCut(text, this.#cut);
    if (text.length - cut > LONGEST_TAIL && !/^ {0,3}(`{3}|~{3})/m.test(text.slice(cut))) cut = Math.max(cut, text.lastIndexOf(' ', text.length - LONGEST_TAIL / 2) + 1);
    if (cut <= this.#cut) return;
    for (const block of parse(text.slice(this.#cut, cut))) this.element.insertBefore(blockElement(block, this.#hands), this.#tail);
    this.#cut = cut;
  }
}
