// Unified diffs: their lines for showing, and what they make of a text. Pure.

export interface DiffLine { kind: 'file' | 'hunk' | 'add' | 'delete' | 'same' | 'note'; text: string }

export interface DiffCounts { added: number; deleted: number }

/** One file's part of a diff; `name` is what the diff calls the file. */
export interface FileDiff { name: string; kind: 'create' | 'change' | 'delete'; diff: string }

interface Hunk { start: number; before: string[]; after: string[] }

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** The lines of a diff with what each of them is. A hunk is as long as its head says. */
export function diffLines(diff: string): DiffLine[] {
  let before = 0;
  let after = 0;
  return diff.replace(/\n$/, '').split('\n').map((text): DiffLine => {
    const head = HUNK.exec(text);
    if (head && before <= 0 && after <= 0) {
      before = Number(head[2] ?? 1);
      after = Number(head[3] ?? 1);
      return { kind: 'hunk', text };
    }
    if (text.startsWith('\\')) return { kind: 'note', text };
    if (before <= 0 && after <= 0) return { kind: 'file', text };
    if (!text.startsWith('+')) before -= 1;
    if (!text.startsWith('-')) after -= 1;
    return { kind: text.startsWith('+') ? 'add' : text.startsWith('-') ? 'delete' : 'same', text };
  });
}

export function diffCounts(diff: string): DiffCounts {
  const counts = { added: 0, deleted: 0 };
  for (const { kind } of diffLines(diff)) {
    if (kind === 'add') counts.added += 1;
    if (kind === 'delete') counts.deleted += 1;
  }
  return counts;
}

/** A diff of several files, file by file. */
export function filesOf(diff: string): FileDiff[] {
  const found: FileDiff[] = [];
  let head: string[] = [];
  let body: string[] = [];
  const close = (): void => {
    const [before, after] = [named(head, '--- '), named(head, '+++ ')];
    if (before !== null && after !== null) {
      const kind = before === '' ? 'create' : after === '' ? 'delete' : 'change';
      found.push({ name: after || before, kind, diff: `${[...head, ...body].join('\n')}\n` });
    }
    [head, body] = [[], []];
  };
  for (const { kind, text } of diffLines(diff)) {
    if (kind === 'file' && body.length) close();
    (kind === 'file' ? head : body).push(text);
  }
  close();
  return found;
}

/** The file's name in a head line; "": there is no file. */
function named(head: string[], mark: string): string | null {
  const line = head.find((each) => each.startsWith(mark));
  if (line === undefined) return null;
  const name = line.slice(mark.length).split('\t')[0] ?? '';
  return name === '/dev/null' ? '' : name.replace(/^[ab]\//, '');
}

/** The text after a diff; null if the diff is not one of this text. Line endings stay the text's. */
export function patched(text: string, diff: string): string | null {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const lines = text === '' ? [] : text.replaceAll('\r\n', '\n').split('\n');
  const made: string[] = [];
  let at = 0;
  for (const hunk of hunksOf(diff)) {
    const place = found(lines, hunk, at);
    if (place === null) return null;
    made.push(...lines.slice(at, place), ...hunk.after);
    at = place + hunk.before.length;
  }
  made.push(...lines.slice(at));
  return made.join(eol);
}

/** The diff the other way round. */
export function reversed(diff: string): string {
  return diffLines(diff).map(({ kind, text }) => {
    if (kind === 'add') return `-${text.slice(1)}`;
    if (kind === 'delete') return `+${text.slice(1)}`;
    return kind === 'hunk' ? text.replace(/^@@ -(\S+) \+(\S+) @@/, '@@ -$2 +$1 @@') : text;
  }).join('\n');
}

function hunksOf(diff: string): Hunk[] {
  const hunks: Hunk[] = [];
  for (const { kind, text } of diffLines(diff)) {
    if (kind === 'hunk') hunks.push({ start: Number(HUNK.exec(text)?.[1] ?? 1), before: [], after: [] });
    const hunk = hunks.at(-1);
    if (!hunk || kind === 'hunk' || kind === 'file' || kind === 'note') continue;
    const rest = text.slice(1).replace(/\r$/, '');
    if (kind !== 'add') hunk.before.push(rest);
    if (kind !== 'delete') hunk.after.push(rest);
  }
  return hunks;
}

/** Where a hunk's old lines stand: at its number, else the nearest place behind the last hunk. */
function found(lines: string[], hunk: Hunk, from: number): number | null {
  const told = hunk.before.length ? hunk.start - 1 : hunk.start;
  const fits = (at: number): boolean => at >= from && hunk.before.every((line, index) => lines[at + index] === line);
  if (fits(told)) return told;
  for (let away = 1; away <= lines.length; away += 1) {
    if (fits(told - away)) return told - away;
    if (fits(told + away)) return told + away;
  }
  return null;
}
