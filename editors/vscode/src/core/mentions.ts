// What a person names in a prompt with `@`: files (with lines), the selection, problems. Pure.

export type Mention =
  | { kind: 'file'; path: string; lines: { first: number; last: number } | null }
  | { kind: 'selection' }
  | { kind: 'problems' };

/** The word that is being typed at the caret, for completion. */
export interface Typing { trigger: '@' | '/'; query: string; from: number; to: number }

const MENTION = /(?<![\w@.])@(?:"([^"\n]{1,400})"|([^\s"@]{1,400}))/g;
const LINES = /:(\d{1,7})(?:-(\d{1,7}))?$/;

/** The mentions of a prompt, each once, in order. Lines count from 1. */
export function mentions(prompt: string): Mention[] {
  const found = new Map<string, Mention>();
  for (const match of prompt.matchAll(MENTION)) {
    const mention = match[1] !== undefined ? file(match[1]) : word(match[2] ?? '');
    if (mention) found.set(JSON.stringify(mention), mention);
  }
  return [...found.values()];
}

/** How a file is written in a prompt. */
export function written(path: string, lines?: { first: number; last: number }): string {
  const place = lines ? `${path}:${lines.first}${lines.last > lines.first ? `-${lines.last}` : ''}` : path;
  return /[\s"]|[.,:;!?)\]}]$/.test(place) ? `@"${place.replaceAll('"', '')}"` : `@${place}`;
}

/** What is typed at the caret: a mention anywhere, a slash command at the beginning. */
export function typing(prompt: string, caret: number): Typing | null {
  const before = prompt.slice(0, caret);
  const slash = /^\/([\w:.-]*)$/.exec(before);
  if (slash) return { trigger: '/', query: slash[1] ?? '', from: 0, to: caret };
  const at = /(?:^|[\s([{,])@("?)([^\s"@]*)$/.exec(before);
  if (!at) return null;
  const query = at[2] ?? '';
  return { trigger: '@', query, from: caret - query.length - (at[1]?.length ?? 0) - 1, to: caret };
}

function word(text: string): Mention | null {
  const bare = text.replace(/[.,:;!?)\]}'"]+$/, '');
  if (!bare) return null;
  if (bare === 'selection') return { kind: 'selection' };
  if (bare === 'problems') return { kind: 'problems' };
  return file(bare);
}

function file(text: string): Mention {
  const lines = LINES.exec(text);
  if (!lines) return { kind: 'file', path: text, lines: null };
  const first = Math.max(1, Number(lines[1]));
  return { kind: 'file', path: text.slice(0, lines.index), lines: { first, last: Math.max(first, Number(lines[2] ?? first)) } };
}
