// What goes with a prompt beside its text: images and PDFs that were pasted or dropped, each as a chip to take back.

import { LONGEST_DATA, MEDIA_TYPES, MOST_ATTACHED, type Attachment } from '../core/protocol.ts';
import { plain } from '../core/plain.ts';
import { el, iconButton } from './dom.ts';
import { icon } from './icons.ts';

export class Attachments {
  readonly element = el('ul', 'attached', { 'aria-label': 'Attached' });
  #kept: Attachment[] = [];
  #problem = '';

  constructor() {
    this.#show();
  }

  /** Take the files that a model can be given; false: there is none among them. What can't be taken is told. */
  take(files: Iterable<File>): boolean {
    const usable = [...files].filter(({ type }) => MEDIA_TYPES.includes(type));
    for (const file of usable) void this.#read(file);
    return usable.length > 0;
  }

  /** What there is, handed over: nothing is attached any more. */
  handOver(): Attachment[] {
    const given = this.#kept;
    this.#kept = [];
    this.#problem = '';
    this.#show();
    return given;
  }

  async #read(file: File): Promise<void> {
    const name = file.name || 'pasted';
    this.#problem = '';
    try {
      const data = await base64(file);
      if (data.length > LONGEST_DATA) this.#problem = `${name} is larger than 5 MB and was not attached.`;
      else if (this.#kept.length >= MOST_ATTACHED) this.#problem = `${MOST_ATTACHED} files are attached; ${name} was not.`;
      else this.#kept.push({ name, mediaType: file.type, data });
    } catch {
      this.#problem = `${name} can't be read.`;
    }
    this.#show();
  }

  #show(): void {
    this.element.hidden = this.#kept.length === 0 && !this.#problem;
    this.element.replaceChildren(...this.#kept.map((each) => {
      const size = `${Math.max(1, Math.round((each.data.length * 3) / 4 / 1024))} KB`;
      return el('li', 'chip', {}, icon('file'), el('span', 'title', {}, plain(each.name)), el('span', 'dim', {}, size),
        iconButton('cross', `Do not attach ${plain(each.name)}`, () => { this.#kept = this.#kept.filter((other) => other !== each); this.#show(); }));
    }));
    if (this.#problem) this.element.append(el('li', 'dim', { role: 'alert' }, plain(this.#problem)));
  }
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(',')[1] ?? '');
    reader.onerror = () => reject(new Error(reader.error?.message));
    reader.readAsDataURL(file);
  });
}
