// One view for each kind of item but tool calls: made once, then changed in place. Not here: which are shown (list.ts).

import type { FromPage } from '../core/protocol.ts';
import { plain } from '../core/plain.ts';
import type { Item, ToolItem } from '../core/transcript.ts';
import { tokens } from '../core/usage.ts';
import { changesElement } from './changes.ts';
import type { FileHands } from './diffs.ts';
import { el, iconButton } from './dom.ts';
import { EndView, NoteView } from './ends.ts';
import { icon } from './icons.ts';
import { MarkdownStream } from './stream.ts';
import { ToolView } from './tool.ts';

export interface Surroundings extends FileHands {
  post(message: FromPage): void;
  say(text: string): void;
  foldTools(): boolean;
  /** A text with the paths of the workspace as one says them there. */
  shortened(text: string): string;
  /** Show an edit of a call in the diff editor. */
  openDiff(item: ToolItem & Item, uri: string): void;
  /** All that the agent has said in a run. */
  saidIn(runId: string): string;
}

export interface ItemView { readonly element: HTMLElement; update(item: Item): void }

export function viewOf(item: Item, around: Surroundings): ItemView {
  switch (item.kind) {
    case 'text':
      return new TextView(around);
    case 'reasoning':
      return new ReasoningView(around);
    case 'tool':
      return new ToolView(around);
    case 'note':
      return new NoteView(around);
    case 'end':
      return new EndView(around);
    default:
      return new PlainView(around);
  }
}

class TextView implements ItemView {
  readonly element = el('article', 'item text', { 'aria-label': 'Agent' });
  #by = el('div', 'by');
  #stream: MarkdownStream;

  constructor(around: Surroundings) {
    this.#stream = new MarkdownStream(around);
    this.element.append(this.#by, this.#stream.element);
  }

  update(item: Item): void {
    if (item.kind !== 'text') return;
    this.#by.textContent = plain(item.by);
    this.element.classList.toggle('voided', item.voided);
    this.#stream.show(item.text);
  }
}

class ReasoningView implements ItemView {
  readonly element = el('article', 'item reasoning', { 'aria-label': 'Reasoning' });
  #details = el('details');
  #stream: MarkdownStream;
  #text = '';

  constructor(around: Surroundings) {
    this.#stream = new MarkdownStream(around);
    this.#details.append(el('summary', '', {}, el('span', 'mark', { 'aria-hidden': 'true' }, icon('think')), el('span', 'title', {}, 'Reasoning'), icon('chevron')),
      el('div', 'tool-body', {}, this.#stream.element));
    this.element.append(this.#details);
    this.#details.addEventListener('toggle', () => this.#details.open && this.#stream.show(this.#text));
  }

  update(item: Item): void {
    if (item.kind !== 'reasoning') return;
    this.#text = item.text;
    this.element.classList.toggle('voided', item.voided);
    if (this.#details.open) this.#stream.show(item.text);
  }
}

const STEPS = { pending: 'to do', inProgress: 'in progress', completed: 'done' };

class PlainView implements ItemView {
  readonly element = el('article', 'item');
  #around: Surroundings;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  update(item: Item): void {
    this.element.className = `item ${item.kind}`;
    switch (item.kind) {
      case 'prompt':
        this.element.setAttribute('aria-label', item.steered ? 'You, while it works' : 'You');
        this.element.classList.toggle('steered', item.steered);
        return this.element.replaceChildren(el('div', 'bubble', {}, plain(item.text)), iconButton('copy', 'Copy the prompt', () => this.#around.copy(item.text), 'tool-button copy'));
      case 'plan':
        this.element.setAttribute('aria-label', 'Plan');
        return this.element.replaceChildren(el('ol', '', {}, ...item.entries.map(({ text, status }) =>
          el('li', status, {}, el('span', 'mark', { role: 'img', 'aria-label': STEPS[status] }, status === 'completed' ? icon('check') : ''), el('span', '', {}, plain(text))))));
      case 'log':
        return this.element.replaceChildren(folded(`Log (${item.lines.length + item.left})`, el('pre', 'output', { tabindex: '0' }, plain(item.lines.join('\n')))));
      case 'compacted':
        return this.#compacted(item);
      case 'changes':
        this.element.setAttribute('aria-label', 'What this run changed');
        return this.element.replaceChildren(changesElement(item, this.#around));
    }
  }

  #compacted(item: Extract<Item, { kind: 'compacted' }>): void {
    const why = { full: 'it was nearly full', overflow: 'it did not fit', asked: 'as you asked' }[item.why];
    const summary = new MarkdownStream(this.#around);
    summary.show(item.summary);
    this.element.setAttribute('aria-label', 'Compacted');
    this.element.replaceChildren(folded(`Compacted from ${tokens(item.before)} to ${tokens(item.after)} tokens, ${why}`, summary.element));
  }
}

function folded(title: string, body: HTMLElement): HTMLElement {
  return el('details', '', {}, el('summary', '', {}, el('span', 'title', {}, title), icon('chevron')), el('div', 'tool-body', {}, body));
}
