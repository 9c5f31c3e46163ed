// Elements without innerHTML: everything a model wrote becomes a text node or an attribute that we chose.

import { diffLines } from '../core/diff.ts';
import { highlight } from '../core/highlight.ts';
import type { Block, Inline, ListItem } from '../core/markdown.ts';
import { icon, type IconName } from './icons.ts';

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

/** A button that is a picture; its name is its tip. */
export function iconButton(name: IconName, title: string, act: () => void, className = 'tool-button'): HTMLButtonElement {
  const made = button('', className, act, title);
  made.append(icon(name));
  return made;
}

/** A button with a picture before its words. */
export function labelled(name: IconName, label: string, className: string, act: () => void, title = ''): HTMLButtonElement {
  const made = button('', className, act, title);
  made.append(icon(name), el('span', '', {}, label));
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
      return codeElement(block.text, block.language, hands, { open: block.open });
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

/** A code block with its language and a button to copy it. `open`: it still grows, and is coloured once it is whole. */
export function codeElement(text: string, language: string, hands: Hands, { open = false, label = language } = {}): HTMLElement {
  const isDiff = language === 'diff' || language === 'patch';
  const pieces = open || isDiff ? [text] : highlight(text, language).map(({ kind, text: piece }) => (kind === 'plain' ? piece : el('span', `code-${kind}`, {}, piece)));
  const code = el('code', '', {}, ...pieces);
  const copy = iconButton('copy', 'Copy this code', () => hands.copy(code.textContent ?? ''), 'tool-button copy');
  const body = isDiff ? diffElement(text) : el('pre', '', { tabindex: '0', 'aria-label': label ? `Code, ${label}` : 'Code' }, code);
  return el('div', language ? 'code' : 'code bare', {}, bar(label, copy), body);
}

function bar(language: string, copy: HTMLElement): HTMLElement {
  return el('div', 'code-bar', {}, el('span', '', {}, language), copy);
}

const MOST_DIFF_LINES = 400;

/** A unified diff, coloured; of a long one, its beginning. The file's name stands above it, so its head is left out. */
export function diffElement(diff: string): HTMLElement {
  const lines = diffLines(diff);
  const heads = lines.filter(({ text }) => text.startsWith('+++ ')).length;
  const made = el('pre', 'diff', { tabindex: '0', 'aria-label': 'Diff' });
  for (const { kind, text } of lines.slice(0, MOST_DIFF_LINES)) if (kind !== 'file' || heads > 1) made.append(el('span', `line ${kind}`, {}, `${text}\n`));
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
