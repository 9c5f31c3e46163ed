// Diffs of files in the page: a bar with the file's name, what was counted, and the way to the diff editor.

import { diffCounts } from '../core/diff.ts';
import { plain } from '../core/plain.ts';
import { button, diffElement, el, iconButton, type Hands } from './dom.ts';

export interface FileHands extends Hands { openFile(uri: string): void }

/** A diff under its bar; `open` shows it in the diff editor. */
export function fileDiff(uri: string, diff: string, hands: FileHands, open: () => void): HTMLElement {
  return el('div', 'code file-diff', {}, fileBar(uri, diff, hands, open), diffElement(plain(diff)));
}

export function fileBar(uri: string, diff: string, hands: FileHands, open: () => void): HTMLElement {
  const name = uri ? button(plain(nameOf(uri)), 'link file-name', () => hands.openFile(uri), `Open ${plain(pathOf(uri))}`) : el('span', '', {}, 'Diff');
  const show = button('Open diff', 'link', open, 'Open in the diff editor');
  return el('div', 'code-bar', {}, name, counts(diff), el('span', 'spring'), show, iconButton('copy', 'Copy the diff', () => hands.copy(diff)));
}

export function counts(diff: string): HTMLElement {
  const { added, deleted } = diffCounts(diff);
  return el('span', 'counts', { 'aria-label': `${added} added, ${deleted} deleted` }, el('span', 'added', {}, `+${added}`), ' ', el('span', 'deleted', {}, `−${deleted}`));
}

/** The last part of a URI's path, for people. */
export function nameOf(uri: string): string {
  return pathOf(uri).split('/').at(-1) ?? uri;
}

function pathOf(uri: string): string {
  try {
    return decodeURIComponent(uri).replace(/^file:\/\//, '');
  } catch {
    return uri;
  }
}
