// All that a run changed: a line for each file, its diff below it, and the ways to look at it and to take it back.

import { filesOf, type FileDiff } from '../core/diff.ts';
import { plain } from '../core/plain.ts';
import type { ChangesItem, Item } from '../core/transcript.ts';
import { counts, nameOf } from './diffs.ts';
import { diffElement, el, iconButton, labelled } from './dom.ts';
import { icon } from './icons.ts';
import type { Surroundings } from './items.ts';

export function changesElement(item: ChangesItem & Item, around: Surroundings): HTMLElement {
  const files = filesOf(item.text);
  const all = files.length + item.omitted.length;
  const open = labelled('diff', 'Open diff', 'link', () => around.post({ type: 'changes', runId: item.runId, name: '' }), 'Open all changes in the diff editor');
  const revert = labelled('revert', 'Revert', 'link', () => around.post({ type: 'revert', runId: item.runId, uris: [] }), 'Take back all that this run changed');
  const head = el('div', 'changes-head', {}, el('span', 'title', {}, `${all} ${all === 1 ? 'file' : 'files'} changed`), counts(item.text), el('span', 'spring'), files.length ? open : '', revert);
  const rows = files.map((file) => fileElement(item, file, around));
  const left = item.omitted.map(({ uri, reason }) => el('li', 'dim left-out', {}, `${plain(nameOf(uri))}: not shown, ${plain(reason)}`));
  return el('div', 'changes-box', {}, head, el('ul', '', {}, ...rows, ...left));
}

function fileElement(item: ChangesItem & Item, file: FileDiff, around: Surroundings): HTMLElement {
  const name = plain(file.name);
  const uris = item.edits.filter((uri) => endsWith(uri, file.name));
  const word = { create: 'new', delete: 'deleted', change: '' }[file.kind];
  const details = el('details', '', {}, el('summary', '', {}, icon('chevron'), el('span', 'title', {}, name), word && el('span', 'status', {}, word), counts(file.diff)));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1) details.append(diffElement(plain(file.diff)));
  });
  const acts = el('div', 'row-acts', {}, iconButton('diff', `Open the diff of ${name}`, () => around.post({ type: 'changes', runId: item.runId, name: file.name })));
  // What can't be told apart by its name is reverted with the rest only.
  if (uris.length === 1) acts.append(iconButton('revert', `Revert ${name}`, () => around.post({ type: 'revert', runId: item.runId, uris })));
  return el('li', '', {}, details, acts);
}

function endsWith(uri: string, name: string): boolean {
  try {
    return decodeURIComponent(uri).endsWith(`/${name.replace(/^\//, '')}`);
  } catch {
    return false;
  }
}
