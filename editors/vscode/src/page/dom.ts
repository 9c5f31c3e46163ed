// Elements without innerHTML: everything a model wrote becomes a text node or an attribute that we chose.

import type { Block, Inline, ListItem } from '../core/markdown.ts';
import { diffLines } from '../core/diff.ts';

export type Child = Node | string | null | undefined | false;

/** An element with a class, attributes and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, className = '', attributes: Record<string, string> = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const child of children) if (child) made.append(child);
  return made;
}

export function button(label: string, className: string, act: () => void, title = ''): HTMLButtonElement {
  const made = el('button', className, { type: 'button', ...(title ? { title, 'aria-label': title } : {}) }, label);
  made.addEventListener('click', act);
  return made;
}

/** What rendered text can do; links carry their address in `data-href`, a listener of the page opens them. */
export interface Hands { copy(text: string): void }

export function blockElement(block: Block, hands: Hands): HTMLElement {
  switch (block.kind) {
    case 'paragraph':
      return el('p', '', {}, ...inlineNodes(block.content));
    case 'heading':
      // Below the page's own headings.
      return el(`h${Math.min(6, block.level + 2)}` as 'h3', '', {}, ...inlineNodes(block.content));
    case 'code':
      return codeElement(block.text, block.language, hands);
    case 'quote':
      return el('blockquote', '', {}, ...block.blocks.map((each) => blockElement(each, hands)));
    case 'list':
      return listElement(block.start, block.items, hands);
    case 'table':
      return tableElement(block);
    case 'rule':
      return el('hr');
  }
}

/** A code block with its language and a button to copy it. */
export function codeElement(text: string, language: string, hands: Hands): HTMLElement {
  const code = el('code', '', {}, text);
  const bar = el('div', 'code-bar', {}, el('span', '', {}, language), button('Copy', 'link', () => hands.copy(code.textContent ?? ''), 'Copy this code'));
  const body = language === 'diff' || language === 'patch' ? diffElement(text) : el('pre', '', { tabindex: '0' }, code);
  return el('div', 'code', {}, bar, body);
}

const MOST_DIFF_LINES = 400;

/** A unified diff, coloured; of a long one, its beginning. */
export function diffElement(diff: string): HTMLElement {
  const lines = diffLines(diff);
  const made = el('pre', 'diff', { tabindex: '0', 'aria-label': 'Diff' });
  for (const { kind, text } of lines.slice(0, MOST_DIFF_LINES)) made.append(el('span', `line ${kind}`, {}, `${text}\n`));
  if (lines.length > MOST_DIFF_LINES) made.append(el('span', 'line note', {}, `… ${lines.length - MOST_DIFF_LINES} more lines: open the diff to see them\n`));
  return made;
}

function listElement(start: number | null, items: ListItem[], hands: Hands): HTMLElement {
  const list = start === null ? el('ul') : el('ol', '', { start: String(start) });
  for (const item of items) {
    const box = item.done !== null && el('span', 'box', { role: 'img', 'aria-label': item.done ? 'done' : 'to do' }, item.done ? '☑ ' : '☐ ');
    const [first, ...rest] = item.blocks;
    const lead = first?.kind === 'paragraph' ? inlineNodes(first.content) : first ? [blockElement(first, hands)] : [];
    list.append(el('li', '', {}, box, ...lead, ...rest.map((each) => blockElement(each, hands))));
  }
  return list;
}

function tableElement(table: Extract<Block, { kind: 'table' }>): HTMLElement {
  const cell = (tag: 'th' | 'td', content: Inline[], column: number): HTMLElement => {
    const made = el(tag, '', {}, ...inlineNodes(content));
    const align = table.align[column];
    if (align) made.classList.add(`align-${align}`);
    return made;
  };
  const head = el('thead', '', {}, el('tr', '', {}, ...table.head.map((each, column) => cell('th', each, column))));
  const rows = table.rows.map((row) => el('tr', '', {}, ...row.map((each, column) => cell('td', each, column))));
  const left = table.left > 0 && el('p', 'dim', {}, `… ${table.left} more rows`);
  return el('div', 'table', { tabindex: '0' }, el('table', '', {}, head, el('tbody', '', {}, ...rows)), left);
}

function inlineNodes(content: Inline[]): Node[] {
  return content.map((each): Node => {
    switch (each.kind) {
      case 'text':
        return document.createTextNode(each.text);
      case 'code':
        return el('code', '', {}, each.text);
      case 'break':
        return el('br');
      case 'link':
        return el('a', '', { href: '#', 'data-href': each.href, title: each.href }, ...inlineNodes(each.content));
      default:
        return el(each.kind, '', {}, ...inlineNodes(each.content));
    }
  });
}
