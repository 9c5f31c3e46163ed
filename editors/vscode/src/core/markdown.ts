// Markdown to a tree of closed kinds: HTML is text, links are only what `safeLink` lets through, nothing is loaded.
// Linear in the text and bounded in depth and in table size. Not here: the DOM (page/dom.ts).

import { plain } from './plain.ts';

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'em' | 'del'; content: Inline[] }
  | { kind: 'link'; href: string; content: Inline[] }
  | { kind: 'break' };

export type Align = 'left' | 'center' | 'right' | null;

export type Block =
  | { kind: 'paragraph'; content: Inline[] }
  | { kind: 'heading'; level: number; content: Inline[] }
  | { kind: 'code'; language: string; text: string; open: boolean }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'list'; start: number | null; items: ListItem[] }
  | { kind: 'table'; align: Align[]; head: Inline[][]; rows: Inline[][][]; left: number }
  | { kind: 'rule' };

export interface ListItem { done: boolean | null; blocks: Block[] }

const MOST_DEPTH = 8;
const MOST_ROWS = 200;
const MOST_COLUMNS = 24;
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t](.*))?$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:[ \t]+(.*))?$/;
const SEPARATOR = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

/** The blocks of a whole text. */
export function parse(text: string): Block[] {
  return blocks(plain(text).split('\n'), 0);
}

/** A link that may be opened: http, https or mailto, without what hides its aim; null otherwise. */
export function safeLink(href: string): string | null {
  const bare = href.trim();
  if (bare.length > 2000 || /[\s\\<>"`]/.test(bare)) return null;
  if (!/^(?:https?:\/\/[^/@?#]+(?:[/?#]|$)|mailto:[^/])/i.test(bare)) return null;
  try {
    const { protocol } = new URL(bare);
    return ['http:', 'https:', 'mailto:'].includes(protocol) ? bare : null;
  } catch {
    return null;
  }
}

/**
 * Where a text that still grows can be cut: what is before the index will not change its meaning.
 * `from` is an earlier cut. A fence that is open, a list and a table are never cut inside.
 */
export function stableCut(text: string, from: number): number {
  let cut = from;
  let fence = '';
  let blank = false;
  for (let at = from; ;) {
    const end = text.indexOf('\n', at);
    if (end < 0) return cut;
    const line = text.slice(at, end);
    if (fence) {
      if (closes(line, fence)) {
        fence = '';
        cut = end + 1;
      }
    } else {
      if (blank && !/^(?: {2,}|\t|\s*$)/.test(line) && !ITEM.test(line)) cut = at;
      fence = FENCE.exec(line)?.[1] ?? '';
      blank = line.trim() === '';
    }
    at = end + 1;
  }
}

function closes(line: string, fence: string): boolean {
  const bare = line.trim();
  return bare.length >= fence.length && bare === fence[0]?.repeat(bare.length);
}

// ---- blocks

function blocks(lines: string[], depth: number): Block[] {
  const found: Block[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? '';
    if (!line.trim()) {
      at += 1;
      continue;
    }
    const [block, next] = blockAt(lines, at, depth);
    found.push(block);
    at = next;
  }
  return found;
}

function blockAt(lines: string[], at: number, depth: number): [Block, number] {
  const line = lines[at] ?? '';
  const fence = FENCE.exec(line);
  if (fence) return codeAt(lines, at, fence[1] ?? '```', fence[2] ?? '');
  const heading = HEADING.exec(line);
  if (heading) return [{ kind: 'heading', level: heading[1]?.length ?? 1, content: inlines(headingText(heading[2] ?? ''), depth) }, at + 1];
  if (RULE.test(line)) return [{ kind: 'rule' }, at + 1];
  if (depth < MOST_DEPTH && QUOTE.test(line)) return quoteAt(lines, at, depth);
  if (depth < MOST_DEPTH && ITEM.test(line)) return listAt(lines, at, depth);
  if (line.includes('|') && SEPARATOR.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-')) return tableAt(lines, at, depth);
  return paragraphAt(lines, at, depth);
}

/** Without the marks that may close a heading. */
function headingText(text: string): string {
  const bare = text.trim();
  const end = bare.replace(/#+$/, '');
  return end === '' || /[ \t]$/.test(end) ? end.trimEnd() : bare;
}

function codeAt(lines: string[], at: number, fence: string, language: string): [Block, number] {
  let end = at + 1;
  while (end < lines.length && !closes(lines[end] ?? '', fence)) end += 1;
  const open = end >= lines.length;
  const text = lines.slice(at + 1, end).join('\n');
  return [{ kind: 'code', language: language.trim().split(/\s/)[0]?.slice(0, 40) ?? '', text, open }, end + 1];
}

function quoteAt(lines: string[], at: number, depth: number): [Block, number] {
  const inner: string[] = [];
  let end = at;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? '';
    const quoted = QUOTE.exec(line);
    if (!quoted && (!line.trim() || starts(line))) break;
    inner.push(quoted ? (quoted[1] ?? '') : line);
  }
  return [{ kind: 'quote', blocks: blocks(inner, depth + 1) }, end];
}

function listAt(lines: string[], at: number, depth: number): [Block, number] {
  const first = ITEM.exec(lines[at] ?? '')?.[2] ?? '-';
  const ordered = /\d/.test(first);
  const items: ListItem[] = [];
  let end = at;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end] ?? '');
    if (!item || /\d/.test(item[2] ?? '') !== ordered || RULE.test(lines[end] ?? '')) break;
    const [inner, next] = itemAt(lines, end, item);
    items.push(listItem(inner, depth));
    end = next;
  }
  return [{ kind: 'list', start: ordered ? Number.parseInt(first, 10) : null, items }, end];
}

function itemAt(lines: string[], at: number, item: RegExpExecArray): [string[], number] {
  const inner = [item[3] ?? ''];
  let end = at + 1;
  let blank = false;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? '';
    if (!line.trim()) {
      blank = true;
      inner.push('');
      continue;
    }
    const indented = /^(?: {2,}|\t)/.test(line);
    if (!indented && (blank || starts(line))) break;
    inner.push(indented ? line.replace(/^(?:\t| {1,4})/, (space) => (space === '\t' ? '' : ' '.repeat(Math.max(0, space.length - (item[2]?.length ?? 1) - 1)))) : line);
    blank = false;
  }
  return [inner, end];
}

function listItem(inner: string[], depth: number): ListItem {
  const box = /^\[([ xX])\][ \t]+/.exec(inner[0] ?? '');
  if (box) inner[0] = (inner[0] ?? '').slice(box[0].length);
  return { done: box ? box[1] !== ' ' : null, blocks: blocks(inner, depth + 1) };
}

function tableAt(lines: string[], at: number, depth: number): [Block, number] {
  const align = cells(lines[at + 1] ?? '').map((cell): Align => {
    const left = cell.startsWith(':');
    const right = cell.endsWith(':');
    return left && right ? 'center' : right ? 'right' : left ? 'left' : null;
  });
  let end = at + 2;
  while (end < lines.length && (lines[end] ?? '').includes('|')) end += 1;
  const row = (line: string): Inline[][] => cells(line).slice(0, MOST_COLUMNS).map((cell) => inlines(cell, depth + 1));
  const shown = lines.slice(at + 2, Math.min(end, at + 2 + MOST_ROWS));
  return [{ kind: 'table', align: align.slice(0, MOST_COLUMNS), head: row(lines[at] ?? ''), rows: shown.map(row), left: end - at - 2 - shown.length }, end];
}

function cells(line: string): string[] {
  const bare = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  return bare.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

function paragraphAt(lines: string[], at: number, depth: number): [Block, number] {
  let end = at + 1;
  while (end < lines.length && (lines[end] ?? '').trim() && !starts(lines[end] ?? '')) end += 1;
  const text = lines.slice(at, end).map((line) => line.trimStart()).join('\n');
  return [{ kind: 'paragraph', content: inlines(text, depth) }, end];
}

/** Whether a line ends a paragraph by beginning something else. */
function starts(line: string): boolean {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
}

// ---- inlines

const MARKS = /[\\`*_~[!<h\n]/g;
const ESCAPABLE = /[!-/:-@[-`{-~]/;

function inlines(text: string, depth: number): Inline[] {
  const found: Inline[] = [];
  let plainFrom = 0;
  const flush = (to: number): void => {
    if (to > plainFrom) say(found, text.slice(plainFrom, to));
  };
  MARKS.lastIndex = 0;
  for (let at = next(text, 0); at >= 0;) {
    const taken = take(text, at, depth);
    if (!taken) {
      at = next(text, at + 1);
      continue;
    }
    flush(at);
    if (taken.node) found.push(taken.node);
    else say(found, taken.text ?? '');
    plainFrom = taken.end;
    at = next(text, taken.end);
  }
  flush(text.length);
  return found;
}

function next(text: string, from: number): number {
  MARKS.lastIndex = from;
  return MARKS.exec(text)?.index ?? -1;
}

function say(found: Inline[], text: string): void {
  const last = found.at(-1);
  if (last?.kind === 'text') last.text += text;
  else if (text) found.push({ kind: 'text', text });
}

interface Taken { node?: Inline; text?: string; end: number }

function take(text: string, at: number, depth: number): Taken | null {
  switch (text[at]) {
    case '\\':
      return ESCAPABLE.test(text[at + 1] ?? '') ? { text: text[at + 1] ?? '', end: at + 2 } : null;
    case '\n':
      return /[ ]{2}$|\\$/.test(text.slice(Math.max(0, at - 2), at)) ? { node: { kind: 'break' }, end: at + 1 } : null;
    case '`':
      return codeSpan(text, at);
    case '!':
      return text[at + 1] === '[' ? link(text, at + 1, depth) : null;
    case '[':
      return link(text, at, depth);
    case '<':
      return autolink(text, at);
    case 'h':
      return bareLink(text, at);
    default:
      return emphasis(text, at, depth);
  }
}

function codeSpan(text: string, at: number): Taken | null {
  let size = 1;
  while (text[at + size] === '`') size += 1;
  const fence = '`'.repeat(size);
  for (let end = text.indexOf(fence, at + size); end >= 0; end = text.indexOf(fence, end + 1)) {
    if (text[end + size] === '`' || text[end - 1] === '`') {
      while (text[end + 1] === '`') end += 1;
      continue;
    }
    const inner = text.slice(at + size, end).replaceAll('\n', ' ');
    return { node: { kind: 'code', text: /^ .* $/.test(inner) && inner.trim() ? inner.slice(1, -1) : inner }, end: end + size };
  }
  return { text: fence, end: at + size };
}

const LONGEST_LABEL = 400;

function link(text: string, at: number, depth: number): Taken | null {
  const close = closing(text, at);
  if (close < 0 || text[close + 1] !== '(') return null;
  const end = text.indexOf(')', close + 2);
  if (end < 0 || end - close > 2100) return null;
  const href = safeLink(text.slice(close + 2, end).trim().split(/\s+["'(]/)[0] ?? '');
  const label = text.slice(at + 1, close);
  if (!href) return { text: `${label} (${text.slice(close + 2, end)})`, end: end + 1 };
  return { node: { kind: 'link', href, content: depth < MOST_DEPTH ? unlinked(inlines(label, depth + 1)) : [{ kind: 'text', text: label }] }, end: end + 1 };
}

function closing(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < Math.min(text.length, at + LONGEST_LABEL); i += 1) {
    if (text[i] === '\\') i += 1;
    else if (text[i] === '[') depth += 1;
    else if (text[i] === ']' && --depth === 0) return i;
  }
  return -1;
}

/** No link inside a link. */
function unlinked(content: Inline[]): Inline[] {
  return content.flatMap((each) => (each.kind === 'link' ? each.content : [each]));
}

function autolink(text: string, at: number): Taken | null {
  const end = text.slice(at, at + 2100).indexOf('>');
  const href = end > 0 ? safeLink(text.slice(at + 1, at + end)) : null;
  return href ? { node: { kind: 'link', href, content: [{ kind: 'text', text: href }] }, end: at + end + 1 } : null;
}

function bareLink(text: string, at: number): Taken | null {
  if (/\w/.test(text[at - 1] ?? '')) return null;
  const word = /^https?:\/\/[^\s<>"`]+/.exec(text.slice(at, at + 2000))?.[0].replace(/[.,;:!?'*_~)\]]+$/, '');
  const href = word ? safeLink(word) : null;
  return word && href ? { node: { kind: 'link', href, content: [{ kind: 'text', text: word }] }, end: at + word.length } : null;
}

const LONGEST_EMPHASIS = 2000;
const MOST_TRIES = 40;

function emphasis(text: string, at: number, depth: number): Taken | null {
  const mark = text[at] ?? '';
  let size = 1;
  while (text[at + size] === mark && size < 3) size += 1;
  const wanted = mark === '~' ? 2 : Math.min(size, 2);
  const opens = !/\s/.test(text[at + size] ?? ' ') && (mark !== '_' || !/\w/.test(text[at - 1] ?? ''));
  if (!opens || depth >= MOST_DEPTH || size < wanted) return { text: mark.repeat(size), end: at + size };
  const fence = mark.repeat(wanted);
  const limit = Math.min(text.length, at + LONGEST_EMPHASIS);
  let tries = 0;
  for (let end = text.indexOf(fence, at + wanted + 1); end >= 0 && end < limit && tries < MOST_TRIES; end = text.indexOf(fence, end + 1)) {
    tries += 1;
    const fits = !/[\s\\]/.test(text[end - 1] ?? ' ') && (mark !== '_' || !/\w/.test(text[end + wanted] ?? '')) && (wanted === 2 || (text[end + 1] !== mark && text[end - 1] !== mark));
    if (!fits) continue;
    const kind = mark === '~' ? 'del' : wanted === 2 ? 'strong' : 'em';
    return { node: { kind, content: inlines(text.slice(at + wanted, end), depth + 1) }, end: end + wanted };
  }
  return { text: mark.repeat(size), end: at + size };
}
