// Colours for code, by a few rules that fit most languages: comments, strings, numbers, words of the language.
// Linear in the text and bounded; what it does not know stays plain. It never changes the text. Pure.

export interface Piece { kind: 'plain' | 'comment' | 'string' | 'number' | 'word' | 'name'; text: string }

interface Language { line: string[]; block: [string, string][]; quotes: string[]; words: Set<string> }

/** Longer code stays plain. */
const MOST = 40_000;

const words = (text: string): Set<string> => new Set(text.split(' '));
const C_BLOCK: [string, string] = ['/*', '*/'];
const SCRIPT: Language = {
  line: ['//'], block: [C_BLOCK], quotes: ['"', "'", '`'],
  words: words('abstract as async await boolean break case catch class const continue default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let new null number of private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined unknown var void while yield'),
};
const PYTHON: Language = {
  line: ['#'], block: [['"""', '"""'], ["'''", "'''"]], quotes: ['"', "'"],
  words: words('and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try type while with yield'),
};
const C_LIKE: Language = {
  line: ['//'], block: [C_BLOCK], quotes: ['"', "'"],
  words: words('abstract as auto bool break case catch chan char class const constexpr continue crate default defer delete do double dyn else enum explicit extends extern false final finally float fn for foreach friend func fun go goto if impl implements import in include inline int interface internal let long loop map match mod move mut namespace new nil null nullptr object operator out override package private protected pub public range record ref register return sealed self short signed sizeof static string struct super switch template this throw throws trait true try type typedef typename union unsafe unsigned use using val var virtual void volatile when where while yield'),
};
const SHELL: Language = {
  line: ['#'], block: [], quotes: ['"', "'"],
  words: words('case cd do done echo elif else esac exit export fi for function if in local return set source sudo then until while'),
};
const DATA: Language = { line: ['#', '//'], block: [], quotes: ['"', "'"], words: words('true false null yes no on off True False None') };
const SQL: Language = {
  line: ['--'], block: [C_BLOCK], quotes: ["'", '"'],
  words: words('add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null on or order outer primary references right rollback select set table then union unique update values view when where with'),
};
const LUA: Language = {
  line: ['--'], block: [['--[[', ']]'], ['[[', ']]']], quotes: ['"', "'"],
  words: words('and break do else elseif end false for function goto if in local nil not or repeat return then true until while'),
};
const STYLE: Language = { line: [], block: [C_BLOCK], quotes: ['"', "'"], words: words('auto block flex grid hidden inherit initial none solid unset') };

const LANGUAGES: [Language, string][] = [
  [SCRIPT, 'js jsx ts tsx mjs cjs mts cts javascript typescript javascriptreact typescriptreact svelte vue'],
  [PYTHON, 'py python py3 python3 pyi starlark'],
  [C_LIKE, 'c h cc cpp cxx hpp c++ cs csharp java kotlin kt go golang rust rs swift scala dart php objc groovy zig'],
  [SHELL, 'sh bash zsh fish shell console shellscript dockerfile makefile make'],
  [DATA, 'json jsonc json5 yaml yml toml ini conf properties env'],
  [SQL, 'sql postgres postgresql mysql sqlite plsql'],
  [LUA, 'lua'],
  [STYLE, 'css scss less'],
];
const BY_NAME = new Map(LANGUAGES.flatMap(([language, names]) => names.split(' ').map((name) => [name, language] as const)));

/** The pieces of the code, which together are the code. */
export function highlight(code: string, language: string): Piece[] {
  const known = BY_NAME.get(language.toLowerCase());
  if (!known || code.length > MOST) return [{ kind: 'plain', text: code }];
  const pieces: Piece[] = [];
  const insensitive = known === SQL;
  for (let at = 0; at < code.length;) {
    const [kind, end] = pieceAt(code, at, known, insensitive);
    const last = pieces.at(-1);
    if (last?.kind === kind && kind === 'plain') last.text += code.slice(at, end);
    else pieces.push({ kind, text: code.slice(at, end) });
    at = end;
  }
  return pieces;
}

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /(?:0[xob][\da-f_]+|\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\w*/iy;
const REST = /[^\p{L}\p{N}_$"'`#/\-[]+/uy;

function pieceAt(code: string, at: number, language: Language, insensitive: boolean): [Piece['kind'], number] {
  for (const [open, close] of language.block) {
    if (!code.startsWith(open, at)) continue;
    const end = code.indexOf(close, at + open.length);
    return [open.startsWith('/') || open.startsWith('-') ? 'comment' : 'string', end < 0 ? code.length : end + close.length];
  }
  if (language.line.some((mark) => code.startsWith(mark, at)) && commentFits(code, at)) return ['comment', lineEnd(code, at)];
  const char = code[at] ?? '';
  if (language.quotes.includes(char)) return ['string', quoteEnd(code, at, char)];
  const word = matched(WORD, code, at);
  if (word) {
    if (language.words.has(insensitive ? word.toLowerCase() : word)) return ['word', at + word.length];
    return [code[at + word.length] === '(' ? 'name' : 'plain', at + word.length];
  }
  const number = matched(NUMBER, code, at);
  if (number) return ['number', at + number.length];
  return ['plain', at + (matched(REST, code, at).length || 1)];
}

/** A `#` or `//` inside a word or an address begins no comment. */
function commentFits(code: string, at: number): boolean {
  return at === 0 || !/[\w$:{]/.test(code[at - 1] ?? '');
}

function lineEnd(code: string, at: number): number {
  const end = code.indexOf('\n', at);
  return end < 0 ? code.length : end;
}

function quoteEnd(code: string, at: number, quote: string): number {
  for (let end = at + 1; end < code.length; end += 1) {
    if (code[end] === '\\') end += 1;
    else if (code[end] === quote) return end + 1;
    else if (code[end] === '\n' && quote !== '`') return end;
  }
  return code.length;
}

function matched(pattern: RegExp, code: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(code)?.[0] ?? '';
}
