// Text that grows at its end, in pieces of whole lines: only the last piece is laid out anew.

import { el } from './dom.ts';

/** A piece is closed at its last line end once it is longer than this. */
const LONG = 4_000;

export class GrowingText {
  readonly #element: HTMLElement;
  #last = document.createTextNode('');

  constructor(element: HTMLElement) {
    this.#element = element;
  }

  /** Another text in place of all of it. */
  set(text: string): void {
    this.#element.replaceChildren();
    this.#begin('');
    this.append(text);
  }

  append(text: string): void {
    if (!this.#last.isConnected && !this.#last.parentNode) this.#begin('');
    this.#last.appendData(text);
    while (this.#last.length > LONG) {
      const end = this.#last.data.lastIndexOf('\n', this.#last.length > 2 * LONG ? LONG : undefined) + 1;
      if (end === 0) return;
      const rest = this.#last.data.slice(end);
      this.#last.deleteData(end, rest.length);
      this.#begin(rest);
    }
  }

  #begin(text: string): void {
    this.#last = document.createTextNode(text);
    const piece = el('span', 'piece');
    piece.append(this.#last);
    this.#element.append(piece);
  }
}
