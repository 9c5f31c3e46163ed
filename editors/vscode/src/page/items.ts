// One view for each kind of item: made once, then changed in place. Not here: which items are shown (list.ts).

import type { FromPage } from '../core/protocol.ts';
import { plain } from '../core/plain.ts';
import type { EditItem, EndItem, Item, QuestionItem, ToolItem } from '../core/transcript.ts';
import { diffCounts } from '../core/diff.ts';
import { button, codeElement, diffElement, el, type Hands } from './dom.ts';
import { MarkdownStream } from './stream.ts';
import type { UsageWire } from '../wire.ts';

export interface Surroundings extends Hands {
  post(message: FromPage): void;
  say(text: string): void;
  foldTools(): boolean;
  /** A text with the paths of the workspace as one says them there. */
  shortened(text: string): string;
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
    this.#by.textContent = item.by;
    this.element.classList.toggle('voided', item.voided);
    this.#stream.show(item.text);
  }
}

class ReasoningView implements ItemView {
  readonly element = el('details', 'item reasoning');
  #stream: MarkdownStream;
  #text = '';

  constructor(around: Surroundings) {
    this.#stream = new MarkdownStream(around);
    this.element.append(el('summary', '', {}, 'Reasoning'), this.#stream.element);
    this.element.addEventListener('toggle', () => this.element.open && this.#stream.show(this.#text));
  }

  update(item: Item): void {
    if (item.kind !== 'reasoning') return;
    this.#text = item.text;
    this.element.classList.toggle('voided', item.voided);
    if (this.element.open) this.#stream.show(item.text);
  }
}

const STATUS: Record<ToolItem['status'], [string, string]> = {
  requested: ['…', 'requested'], running: ['●', 'running'], asking: ['?', 'waits for you'],
  ok: ['✓', 'done'], denied: ['⊘', 'denied'], failed: ['✕', 'failed'], stopped: ['■', 'stopped'],
};

class ToolView implements ItemView {
  readonly element = el('article', 'item tool');
  #around: Surroundings;
  #details = el('details');
  #mark = el('span', 'mark', { 'aria-hidden': 'true' });
  #title = el('span', 'title');
  #status = el('span', 'status');
  #question = el('div', 'question-place');
  #edits = el('div', 'edits');
  #output = el('pre', 'output', { tabindex: '0', 'aria-label': 'Output' });
  #outputLength = 0;
  #omitted = 0;
  #summary = el('div', 'summary');
  #judged = el('div', 'summary');
  #arguments = el('div', 'arguments');
  #shown = { question: '', edits: '', settled: false, arguments: false };
  #item: ToolItem & Item | null = null;

  constructor(around: Surroundings) {
    this.#around = around;
    this.#details.append(el('summary', '', {}, this.#mark, this.#title, this.#status), this.#arguments, this.#judged, this.#output, this.#summary);
    this.#output.hidden = true;
    this.element.append(this.#details, this.#question, this.#edits);
    this.#details.addEventListener('toggle', () => this.#showArguments());
  }

  update(item: Item): void {
    if (item.kind !== 'tool') return;
    this.#item = item;
    const [mark, word] = STATUS[item.status];
    this.element.className = `item tool ${item.status} risk-${item.risk}`;
    this.element.setAttribute('aria-label', `${item.title}: ${word}`);
    this.#mark.textContent = mark;
    this.#title.textContent = plain(`${item.by ? `${item.by}: ` : ''}${this.#around.shortened(item.title)}`);
    this.#status.textContent = word;
    this.#summary.textContent = plain(item.summary);
    this.#judged.textContent = plain(item.judged.join('\n'));
    this.#showOutput(item);
    this.#showQuestion(item);
    this.#showEdits(item);
    this.#showArguments();
    this.#fold(item);
  }

  /** Opens while it writes, folds once when it has ended; after that it stays as the person leaves it. */
  #fold(item: ToolItem): void {
    const over = !['requested', 'running', 'asking'].includes(item.status);
    if (over && !this.#shown.settled) {
      this.#shown.settled = true;
      if (this.#around.foldTools() && item.status !== 'failed') this.#details.open = false;
    } else if (!over && item.output && !this.#details.open && this.#outputLength === item.output.length) this.#details.open = true;
  }

  #showArguments(): void {
    if (!this.#details.open || this.#shown.arguments || !this.#item || this.#item.arguments === '{}') return;
    this.#shown.arguments = true;
    this.#arguments.replaceChildren(codeElement(plain(this.#item.arguments), 'arguments', this.#around));
  }

  #showOutput(item: ToolItem): void {
    if (!item.output) return;
    const first = this.#outputLength === 0;
    const added = item.output.length - this.#outputLength;
    // A carriage return or an escape may belong to what is shown already: then all of it anew.
    if (this.#omitted !== item.omitted || added < 0 || /[\r\u001b\u009b]/.test(item.output.slice(Math.max(0, this.#outputLength - 1)))) {
      this.#output.textContent = (item.omitted ? `… ${item.omitted} characters before this are not shown\n` : '') + plain(item.output);
    } else if (added > 0) this.#output.append(plain(item.output.slice(this.#outputLength)));
    this.#omitted = item.omitted;
    this.#outputLength = item.output.length;
    this.#output.hidden = false;
    if (first && ['requested', 'running'].includes(item.status)) this.#details.open = true;
    this.#output.scrollTop = this.#output.scrollHeight;
  }

  #showQuestion(item: ToolItem & Item): void {
    const told = item.question ? JSON.stringify([item.question.open, item.question.answer, item.question.title]) : '';
    if (told === this.#shown.question) return;
    this.#shown.question = told;
    this.#question.replaceChildren(...(item.question ? [questionElement(item, item.question, this.#around)] : []));
  }

  #showEdits(item: ToolItem & Item): void {
    const shown = item.question?.open ? [] : item.edits;
    const told = JSON.stringify(shown.map(({ uri, state, diff }) => [uri, state, diff.length]));
    if (told === this.#shown.edits) return;
    this.#shown.edits = told;
    this.#edits.replaceChildren(...shown.map((edit) => editElement(item, edit, this.#around)));
  }
}

function questionElement(item: ToolItem & Item, question: QuestionItem, around: Surroundings): HTMLElement {
  if (!question.open) {
    const option = question.options.find(({ id }) => id === question.answer?.optionId);
    const said = option?.title ?? (item.status === 'asking' ? 'Waits for an answer elsewhere' : 'Not answered');
    return el('div', 'answered', {}, plain(`${said}${question.answer?.reason ? `: ${question.answer.reason}` : ''}`));
  }
  const card = el('section', 'question', { role: 'group', 'aria-label': `Question: ${plain(question.title)}` });
  if (question.detail) {
    const detail = new MarkdownStream(around);
    detail.show(around.shortened(question.detail));
    card.append(detail.element);
  } else card.append(el('h2', '', {}, plain(around.shortened(question.title))));
  const parts = new PartList(item, question, around);
  const uri = item.edits[0]?.uri ?? '';
  if (question.parts.length > 1) card.append(parts.element);
  else if (question.diff) card.append(editBar(item, uri, question.diff, around), diffElement(plain(question.diff)));
  card.append(answerButtons(item, question, parts, around));
  return card;
}

/** The pieces of an edit, each to be taken or left. */
class PartList {
  readonly element = el('div', 'parts', { role: 'group', 'aria-label': 'What is accepted' });
  #boxes = new Map<string, HTMLInputElement>();
  onChange: () => void = () => {};

  constructor(item: ToolItem & Item, question: QuestionItem, around: Surroundings) {
    for (const part of question.parts) {
      const box = el('input', '', { type: 'checkbox', 'aria-label': `Accept ${plain(part.title)}` });
      box.checked = true;
      box.addEventListener('change', () => this.onChange());
      this.#boxes.set(part.id, box);
      const shown = el('details', 'part', { open: '' }, el('summary', '', {}, box, plain(around.shortened(part.title))), editBar(item, part.uri, part.diff, around), diffElement(plain(part.diff)));
      this.element.append(shown);
    }
  }

  /** The ids that are chosen; null: all of them, or there is nothing to choose. */
  get accepted(): string[] | null {
    const chosen = [...this.#boxes].filter(([, box]) => box.checked).map(([id]) => id);
    return chosen.length === this.#boxes.size ? null : chosen;
  }
}

const ORDER = ['allowOnce', 'allowSession', 'allowWorkspace', 'deny', 'stop'];
const LOOKS: Record<string, string> = { allowOnce: 'primary', deny: 'deny' };

function answerButtons(item: ToolItem & Item, question: QuestionItem, parts: PartList, around: Surroundings): HTMLElement {
  const reason = el('input', 'reason', { type: 'text', placeholder: 'Say why not (optional)', 'aria-label': 'Why not', maxlength: '2000' });
  const answer = (optionId: string, accepted: string[] | null): void =>
    around.post({ type: 'answer', runId: item.runId, callId: item.callId, optionId, reason: reason.value.trim(), accepted });
  const deny = question.options.find(({ kind }) => kind === 'deny');
  const row = el('div', 'buttons');
  const allows: HTMLButtonElement[] = [];
  for (const { id, title, kind } of [...question.options].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))) {
    const allow = kind.startsWith('allow');
    const made = button(plain(title), LOOKS[kind] ?? 'secondary', () => answer(id, allow ? parts.accepted : null));
    if (allow) allows.push(made);
    row.append(made);
  }
  if (!question.options.some(({ kind }) => kind === 'stop')) row.append(button('Stop', 'secondary', () => around.post({ type: 'stop' }), 'Deny and stop the run'));
  parts.onChange = () => allows.forEach((each) => { each.disabled = parts.accepted?.length === 0; });
  if (!deny || !question.allowsReason) return row;
  reason.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.isComposing) answer(deny.id, null);
  });
  return el('div', '', {}, row, el('div', 'why', {}, reason, button('Deny with this reason', 'secondary', () => answer(deny.id, null))));
}

function editElement(item: ToolItem & Item, edit: EditItem, around: Surroundings): HTMLElement {
  const shown = el('details', 'edit');
  shown.append(el('summary', '', {}, editLabel(edit), edit.state === 'proposed' ? el('span', 'status', {}, 'proposed') : ''));
  shown.addEventListener('toggle', () => {
    if (shown.open && shown.childElementCount === 1) shown.append(editBar(item, edit.uri, edit.diff, around), diffElement(plain(edit.diff)));
  });
  return shown;
}

function editLabel(edit: EditItem): HTMLElement {
  const { added, deleted } = diffCounts(edit.diff);
  return el('span', 'title', {}, plain(nameOf(edit.uri)), ' ', el('span', 'added', {}, `+${added}`), ' ', el('span', 'deleted', {}, `−${deleted}`));
}

function editBar(item: ToolItem & Item, uri: string, diff: string, around: Surroundings): HTMLElement {
  return el('div', 'code-bar', {},
    button(uri ? plain(nameOf(uri)) : 'File', 'link', () => around.post({ type: 'file', uri }), 'Open the file'),
    el('span', 'spring'),
    button('Open diff', 'link', () => around.post({ type: 'diff', runId: item.runId, callId: item.callId, uri }), 'Open in the diff editor'),
    button('Copy', 'link', () => around.copy(diff), 'Copy the diff'));
}

/** The last parts of a URI's path, for people. */
export function nameOf(uri: string): string {
  try {
    return decodeURIComponent(uri).split('/').slice(-2).join('/');
  } catch {
    return uri.split('/').slice(-2).join('/');
  }
}

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
        return this.element.replaceChildren(el('div', 'bubble', {}, plain(item.text)));
      case 'plan':
        this.element.setAttribute('aria-label', 'Plan');
        return this.element.replaceChildren(el('ol', '', {}, ...item.entries.map(({ text, status }) =>
          el('li', status, {}, el('span', 'mark', { role: 'img', 'aria-label': status }, { pending: '○', inProgress: '◐', completed: '●' }[status]), plain(text)))));
      case 'log':
        return this.element.replaceChildren(el('details', '', {}, el('summary', '', {}, `Log (${item.lines.length + item.left})`), el('pre', 'output', { tabindex: '0' }, plain(item.lines.join('\n')))));
      case 'note':
        return this.#note(item.text, item.tone, item.code);
      case 'end':
        return this.#end(item);
    }
  }

  #note(text: string, tone: 'info' | 'error', code: string | null): void {
    this.element.classList.add(tone);
    if (tone === 'error') this.element.setAttribute('role', 'alert');
    const { post } = this.#around;
    const ways = el('div', 'buttons');
    if (code === 'no_api_key' || code === 'auth_failed') ways.append(button('Set a key…', 'primary', () => post({ type: 'command', command: 'setKey' })));
    if (['no_api_key', 'model_not_found', 'auth_failed', 'rate_limited', 'overloaded'].includes(code ?? '')) ways.append(button('Choose the model…', 'secondary', () => post({ type: 'command', command: 'pickModel' })));
    if (code === 'role_broken' || code === 'role_not_found') ways.append(button('Choose the role…', 'secondary', () => post({ type: 'command', command: 'pickRole' })));
    if (code === 'host_gone') ways.append(button('Restart the server', 'primary', () => post({ type: 'command', command: 'restart' })), button('Show the log', 'secondary', () => post({ type: 'command', command: 'showLog' })));
    this.element.replaceChildren(el('div', '', {}, plain(text)), ways.childElementCount ? ways : '');
  }

  #end(item: EndItem & { runId: string }): void {
    const { post } = this.#around;
    const reason = item.reason ? `: ${plain(item.reason)}` : '';
    const said = el('span', `ended ${item.status}`, {}, `${item.status}${reason}`);
    const row = el('div', 'end-row', {}, said, item.usage && el('span', 'dim', {}, usageText(item.usage)), el('span', 'spring'));
    if (item.edits.length) row.append(button(`Revert ${item.edits.length} file${item.edits.length > 1 ? 's' : ''}`, 'link', () => post({ type: 'revert', runId: item.runId }), 'Take back what this run changed'));
    row.append(button('Fork', 'link', () => post({ type: 'fork', runId: item.runId }), 'A new session that begins like this one, up to here'));
    this.element.replaceChildren(row);
  }
}

export function usageText(usage: UsageWire): string {
  const count = (tokens: number): string => (tokens >= 10_000 ? `${Math.round(tokens / 1000)}k` : String(tokens));
  const cost = typeof usage.costUsd === 'number' ? ` · $${usage.costUsd.toFixed(usage.costUsd < 0.1 ? 4 : 2)}` : '';
  return `${count(usage.inputTokens)} in · ${count(usage.outputTokens)} out${cost}`;
}
