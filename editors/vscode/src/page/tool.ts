// A tool call as one line that unfolds: its arguments, its output, its edits. Made once, then changed in place.

import { plain } from '../core/plain.ts';
import type { EditItem, Item, QuestionItem, ToolItem } from '../core/transcript.ts';
import { counts, fileDiff } from './diffs.ts';
import { codeElement, el, iconButton } from './dom.ts';
import { GrowingText } from './growing.ts';
import { icon, toolIcon, type IconName } from './icons.ts';
import type { ItemView, Surroundings } from './items.ts';

const STATUS: Record<ToolItem['status'], { word: string; mark: IconName | null }> = {
  requested: { word: 'requested', mark: null }, running: { word: 'running', mark: null }, asking: { word: 'waits for you', mark: 'asks' },
  ok: { word: 'done', mark: null }, denied: { word: 'denied', mark: 'denied' }, failed: { word: 'failed', mark: 'cross' }, stopped: { word: 'stopped', mark: 'stop' },
};
const OPEN = ['requested', 'running', 'asking'];
/** An output is shown to its end while the person looks at its end. */
const NEAR = 24;

export class ToolView implements ItemView {
  readonly element = el('article', 'item tool');
  #around: Surroundings;
  #details = el('details');
  #mark = el('span', 'mark', { 'aria-hidden': 'true' });
  #title = el('span', 'title');
  #counts = el('span', 'counts-place');
  #status = el('span', 'status');
  #edits = el('div', 'edits');
  #output = el('pre', 'output', { tabindex: '0', 'aria-label': 'Output' });
  #outputBox: HTMLElement;
  #outputText: GrowingText;
  #outputLength = 0;
  #omitted = 0;
  #summary = el('div', 'summary');
  #judged = el('div', 'judged');
  #arguments = el('div', 'arguments');
  #shown = { mark: '', edits: '', settled: false, arguments: false };
  #item: ToolItem & Item | null = null;

  constructor(around: Surroundings) {
    this.#around = around;
    this.#outputText = new GrowingText(this.#output);
    this.#outputBox = el('div', 'output-box', {}, this.#output, iconButton('copy', 'Copy the output', () => around.copy(this.#output.textContent ?? ''), 'tool-button copy'));
    this.#outputBox.hidden = true;
    this.#details.append(el('summary', '', {}, this.#mark, this.#title, this.#counts, this.#status, icon('chevron')),
      el('div', 'tool-body', {}, this.#edits, this.#outputBox, this.#summary, this.#arguments, this.#judged));
    this.element.append(this.#details);
    this.#details.addEventListener('toggle', () => this.#showBody());
  }

  update(item: Item): void {
    if (item.kind !== 'tool') return;
    this.#item = item;
    const { word } = STATUS[item.status];
    this.element.className = `item tool ${item.status} risk-${item.risk}`;
    this.element.setAttribute('aria-label', `${plain(item.title)}: ${word}`);
    this.#showMark(item);
    this.#title.textContent = plain(`${item.by ? `${item.by}: ` : ''}${this.#around.shortened(item.title)}`);
    this.#status.textContent = said(item);
    this.#summary.textContent = plain(this.#around.shortened(item.summary));
    this.#judged.textContent = plain(item.judged.join('\n'));
    this.#showOutput(item);
    this.#showCounts(item);
    this.#showBody();
    this.#fold(item);
  }

  #showMark(item: ToolItem): void {
    const { mark } = STATUS[item.status];
    const told = mark ?? (OPEN.includes(item.status) ? 'spinner' : toolIcon(item.name));
    if (told === this.#shown.mark) return;
    this.#shown.mark = told;
    this.#mark.replaceChildren(told === 'spinner' ? el('span', 'spinner') : icon(told));
  }

  /** Opens while it writes, folds once when it has ended; after that it stays as the person leaves it. */
  #fold(item: ToolItem): void {
    if (OPEN.includes(item.status) || this.#shown.settled) return;
    this.#shown.settled = true;
    if (this.#around.foldTools() && item.status !== 'failed') this.#details.open = false;
  }

  /** What stands in the body is made when it is looked at. */
  #showBody(): void {
    const item = this.#item;
    if (!this.#details.open || !item) return;
    this.#showEdits(item);
    if (this.#shown.arguments || item.arguments === '{}') return;
    this.#shown.arguments = true;
    this.#arguments.replaceChildren(codeElement(plain(item.arguments), 'json', this.#around, { label: 'arguments' }));
  }

  #showOutput(item: ToolItem): void {
    if (!item.output) return;
    const first = this.#outputLength === 0;
    const added = item.output.length - this.#outputLength;
    const { scrollTop, scrollHeight, clientHeight } = this.#details.open && !first ? this.#output : { scrollTop: 0, scrollHeight: 0, clientHeight: 0 };
    // A carriage return or an escape may belong to what is shown already: then all of it anew.
    if (first || this.#omitted !== item.omitted || added < 0 || /[\r\u001b\u009b]/.test(item.output.slice(Math.max(0, this.#outputLength - 1)))) {
      this.#outputText.set((item.omitted ? `… ${item.omitted} characters before this are not shown\n` : '') + plain(item.output));
    } else if (added > 0) this.#outputText.append(plain(item.output.slice(this.#outputLength)));
    this.#omitted = item.omitted;
    this.#outputLength = item.output.length;
    this.#outputBox.hidden = false;
    if (first && OPEN.includes(item.status)) this.#details.open = true;
    if (this.#details.open && scrollHeight - scrollTop - clientHeight < NEAR) this.#output.scrollTop = this.#output.scrollHeight;
  }

  #showCounts(item: ToolItem): void {
    const told = JSON.stringify(item.edits.map(({ uri, state, diff }) => [uri, state, diff.length]));
    if (told === this.#shown.edits) return;
    this.#shown.edits = told;
    this.#counts.replaceChildren(...(item.edits.length ? [counts(item.edits.map(({ diff }) => diff).join('\n'))] : []));
    this.#edits.replaceChildren();
  }

  #showEdits(item: ToolItem & Item): void {
    if (this.#edits.childElementCount === item.edits.length) return;
    this.#edits.replaceChildren(...item.edits.map((edit) => editElement(item, edit, this.#around)));
  }
}

/** What stands behind the title: nothing where all went well, and what the person said. */
function said(item: ToolItem): string {
  const answer = item.question?.open === false ? answered(item.question, item.status) : '';
  const word = item.status === 'ok' ? '' : STATUS[item.status].word;
  if (item.status === 'denied' && answer) return plain(answer);
  return plain([answer, word].filter(Boolean).join(' · '));
}

function answered(question: QuestionItem, status: ToolItem['status']): string {
  const option = question.options.find(({ id }) => id === question.answer?.optionId);
  if (!option) return status === 'asking' ? 'asked elsewhere' : '';
  const word = option.kind === 'deny' ? 'denied' : option.kind === 'stop' ? 'stopped' : option.kind === 'allowOnce' ? 'allowed' : option.title;
  return `${word}${question.answer?.reason ? `: ${question.answer.reason}` : ''}`;
}

function editElement(item: ToolItem & Item, edit: EditItem, around: Surroundings): HTMLElement {
  const made = fileDiff(edit.uri, edit.diff, around, () => around.openDiff(item, edit.uri));
  if (edit.state === 'proposed' && !['asking', 'requested', 'running'].includes(item.status)) made.classList.add('not-done');
  return made;
}
