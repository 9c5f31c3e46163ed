// How a run ended and what went wrong: one sentence, and as buttons what helps.

import { plain } from '../core/plain.ts';
import type { EndItem, Item } from '../core/transcript.ts';
import { usageDetail, usageText } from '../core/usage.ts';
import { el, iconButton, labelled } from './dom.ts';
import { icon } from './icons.ts';
import type { ItemView, Surroundings } from './items.ts';
import { MarkdownStream } from './stream.ts';

const SAID: Record<string, string> = {
  completed: 'Completed', stopped: 'Stopped', failed: 'Failed', limit: 'Stopped at a limit', refused: 'The model refused', interrupted: 'Interrupted',
};

export class NoteView implements ItemView {
  readonly element = el('article', 'item note');
  #around: Surroundings;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  update(item: Item): void {
    if (item.kind !== 'note') return;
    this.element.className = `item note ${item.tone}`;
    if (item.tone !== 'error') return this.element.replaceChildren(plain(item.text));
    this.element.setAttribute('role', 'alert');
    this.element.replaceChildren(errorElement(item.text, item.code ?? '', item.runId, this.#around));
  }
}

export class EndView implements ItemView {
  readonly element = el('article', 'item end');
  #around: Surroundings;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  update(item: Item): void {
    if (item.kind !== 'end') return;
    const { runId, status, reason, failure } = item;
    const around = this.#around;
    const told = status === 'failed' ? [errorElement(failure?.error ?? (reason || 'The run has failed.'), failure?.code ?? '', runId, around)] : [];
    const spring = el('span', 'spring');
    const row = el('div', 'end-row', {}, el('span', `ended ${status}`, {}, endText(item)), item.usage && el('span', 'dim', { title: usageDetail(item.usage) }, usageText(item.usage)), spring);
    if (status === 'limit' || status === 'interrupted') row.append(labelled('send', 'Go on', 'link', () => around.post({ type: 'send', text: 'Go on.', when: 'now', attached: [] })));
    if (around.saidIn(runId)) row.append(iconButton('copy', 'Copy the answer', () => around.copy(around.saidIn(runId))));
    row.append(iconButton('fork', 'Fork: a new session that begins like this one, up to here', () => around.post({ type: 'fork', runId })));
    this.element.setAttribute('aria-label', endText(item));
    this.element.replaceChildren(...told, row);
  }
}

/** What went wrong with its remedies. */
function errorElement(text: string, code: string, runId: string, around: Surroundings): HTMLElement {
  const { post, shortened } = around;
  const said = new MarkdownStream(around);
  said.show(shortened(text));
  const ways = el('div', 'buttons');
  const command = (name: 'setKey' | 'pickModel' | 'pickRole' | 'restart' | 'showLog' | 'compact' | 'newSession', label: string, look: string): void => {
    ways.append(labelled(name === 'setKey' ? 'key' : 'tool', label, look, () => post({ type: 'command', command: name })));
  };
  if (code === 'no_api_key' || code === 'auth_failed') command('setKey', 'Set a key…', 'primary');
  if (code === 'role_broken' || code === 'role_not_found') command('pickRole', 'Choose the role…', 'primary');
  if (code === 'context_overflow') command('compact', 'Compact', 'primary');
  if (code === 'host_gone') command('restart', 'Restart the server', 'primary');
  if (runId) ways.append(labelled('retry', 'Try again', ways.childElementCount ? 'secondary' : 'primary', () => post({ type: 'again', runId }), 'Send the same prompt again'));
  if (['no_api_key', 'model_not_found', 'auth_failed', 'rate_limited', 'overloaded', 'runtime_missing'].includes(code)) command('pickModel', 'Choose the model…', 'secondary');
  if (['host_gone', 'runtime_failed', 'runtime_missing', 'internal'].includes(code)) command('showLog', 'Show the log', 'secondary');
  return el('div', 'error-box', {}, el('div', 'error-text', {}, icon('warning'), said.element), ways);
}

function endText({ status, reason }: EndItem): string {
  const word = SAID[status] ?? status;
  const plainly = ['completed', 'failed'].includes(status) || !reason || /^stopped by the user$/.test(reason);
  return plainly ? word : `${word}: ${plain(reason)}`;
}
