// A question as a card: what is wished, its diff or the parts of it, and the answers. Not here: where it stands (dock.ts).

import { plain } from '../core/plain.ts';
import type { Item, QuestionItem, ToolItem } from '../core/transcript.ts';
import { fileBar, fileDiff } from './diffs.ts';
import { button, diffElement, el } from './dom.ts';
import { icon, toolIcon } from './icons.ts';
import type { Surroundings } from './items.ts';
import { MarkdownStream } from './stream.ts';

export function questionElement(item: ToolItem & Item, question: QuestionItem, around: Surroundings): HTMLElement {
  const card = el('section', `question risk-${item.risk}`, { role: 'group', 'aria-label': `Question: ${plain(question.title)}` });
  card.append(el('h2', '', {}, icon(toolIcon(item.name)), el('span', '', {}, plain(around.shortened(question.wish)))));
  const body = el('div', 'question-body', { tabindex: '0', role: 'region', 'aria-label': 'What is asked' });
  if (question.detail) {
    const detail = new MarkdownStream(around);
    detail.show(around.shortened(question.detail));
    body.append(detail.element);
  }
  const parts = new PartList(item, question, around);
  const uri = item.edits[0]?.uri ?? '';
  if (question.parts.length > 1) body.append(parts.element);
  else if (question.diff) body.append(fileDiff(uri, question.diff, around, () => around.openDiff(item, uri)));
  card.append(body, answers(item, question, parts, around));
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
      this.#boxes.set(part.id, box);
      const shown = el('div', 'part', {}, el('label', '', {}, box, el('span', '', {}, plain(around.shortened(part.title)))),
        el('div', 'code file-diff', {}, fileBar(part.uri, part.diff, around, () => around.openDiff(item, part.uri)), diffElement(plain(part.diff))));
      box.addEventListener('change', () => {
        shown.classList.toggle('left', !box.checked);
        this.onChange();
      });
      this.element.append(shown);
    }
  }

  get size(): number {
    return this.#boxes.size;
  }

  /** The ids that are chosen; null: all of them, or there is nothing to choose. */
  get accepted(): string[] | null {
    const chosen = [...this.#boxes].filter(([, box]) => box.checked).map(([id]) => id);
    return chosen.length === this.#boxes.size ? null : chosen;
  }
}

/** Stop is not here: its button is below, with the prompt. */
const ORDER = ['allowOnce', 'deny', 'allowSession', 'allowWorkspace'];
const LOOKS: Record<string, string> = { allowOnce: 'primary', deny: 'secondary deny' };
const KEYS: Record<string, string> = { allowOnce: 'Ctrl+Alt+Y', deny: 'Ctrl+Alt+N' };

function answers(item: ToolItem & Item, question: QuestionItem, parts: PartList, around: Surroundings): HTMLElement {
  const reason = el('input', 'reason', { type: 'text', placeholder: 'Or say what to do instead', 'aria-label': 'Why not, and what to do instead', maxlength: '2000' });
  const answer = (optionId: string, accepted: string[] | null): void =>
    around.post({ type: 'answer', runId: item.runId, callId: item.callId, optionId, reason: reason.value.trim(), accepted });
  const row = el('div', 'buttons');
  const allows: { made: HTMLButtonElement; title: string }[] = [];
  const kinds = new Set<string>();
  for (const { id, title, kind } of question.options.filter((each) => ORDER.includes(each.kind)).sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))) {
    const allow = kind.startsWith('allow');
    const first = !kinds.has(kind); // a second way to allow once, the editor's preview, has no key
    kinds.add(kind);
    const made = button(plain(title), (first && LOOKS[kind]) || 'secondary', () => answer(id, allow ? parts.accepted : null));
    if (first && KEYS[kind]) made.title = `${plain(title)} (${KEYS[kind]})`;
    if (allow) allows.push({ made, title: plain(title) });
    row.append(made);
  }
  parts.onChange = () => {
    const chosen = parts.accepted?.length ?? parts.size;
    for (const { made, title } of allows) {
      made.disabled = chosen === 0;
      made.textContent = chosen < parts.size ? `${title} (${chosen} of ${parts.size})` : title;
    }
  };
  const deny = question.options.find(({ kind }) => kind === 'deny');
  if (!deny || !question.allowsReason) return el('div', 'answers', {}, row);
  const denial = button('Deny with this', 'secondary', () => answer(deny.id, null), 'Deny, and tell the agent this');
  denial.hidden = true;
  reason.addEventListener('input', () => { denial.hidden = !reason.value.trim(); });
  reason.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.isComposing && reason.value.trim()) answer(deny.id, null);
  });
  return el('div', 'answers', {}, row, el('div', 'why', {}, reason, denial));
}
