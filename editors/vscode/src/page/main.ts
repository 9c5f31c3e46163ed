// The transcript's page: wires its parts and the messages. It loads nothing and evaluates nothing.

import type { FromPage, State, ToPage } from '../core/protocol.ts';
import type { Step } from '../core/transcript.ts';
import { Composer } from './composer.ts';
import { Dock } from './dock.ts';
import { button, el } from './dom.ts';
import { Empty } from './empty.ts';
import { icon } from './icons.ts';
import type { Surroundings } from './items.ts';
import { TranscriptList } from './list.ts';

declare function acquireVsCodeApi(): { postMessage(message: unknown): void; getState(): unknown; setState(state: unknown): void };

const api = acquireVsCodeApi();
const kept = (api.getState() ?? {}) as { draft?: string };
const post = (message: FromPage): void => api.postMessage(message);
const live = el('div', 'live', { role: 'status', 'aria-live': 'polite' });
const banner = el('div', 'banner');
let state: State | null = null;
let session = '';

const around: Surroundings = {
  post,
  copy: (text) => { post({ type: 'copy', text }); say('Copied'); },
  say,
  foldTools: () => state?.foldTools ?? true,
  shortened: (text) => (state?.folders ?? []).reduce((short, folder) => short.replaceAll(`${folder}/`, '').replaceAll(folder, folder.split('/').at(-1) ?? folder), text),
  openFile: (uri) => post({ type: 'file', uri }),
  openDiff: ({ runId, callId }, uri) => post({ type: 'diff', runId, callId, uri }),
  saidIn: (runId) => list.transcript.items.flatMap((item) => (item.kind === 'text' && item.runId === runId && !item.voided ? [item.text] : [])).join('\n\n'),
};
const list = new TranscriptList(around, (items) => { dock.changed(items); if (state) dock.update(state, list.transcript, true); });
const composer = new Composer(post, kept.draft ?? '', (draft) => api.setState({ draft }),
  () => list.transcript.items.flatMap((item) => (item.kind === 'prompt' ? [item.text] : [])));
const dock = new Dock(around, () => composer.focus());
const empty = new Empty(post, (text) => composer.replace(text));
document.body.append(banner, el('main', 'stage', {}, empty.element, list.element, list.latest), live, dock.element, composer.element);

document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link) return;
  event.preventDefault();
  const href = link.dataset['href'];
  if (href) post({ type: 'link', href });
});
window.addEventListener('focus', () => document.activeElement === document.body && composer.focus());
window.addEventListener('message', ({ data }: MessageEvent<ToPage>) => {
  switch (data.type) {
    case 'snapshot':
      session = data.session;
      state = data.state; // the items are shown by it
      list.reset(data.items, data.runs);
      dock.reset(data.items);
      return update(data.state, false);
    case 'steps':
      if (data.session !== session) return;
      list.take(data.steps);
      showEmpty(false);
      return announce(data.steps);
    case 'state':
      return update(data.state, true);
    case 'suggestions':
      return composer.suggest(data.id, data.found);
    case 'insert':
      return composer.insert(data.text);
    case 'focus':
      return composer.focus();
  }
});
// What showing costs can be read from outside, by a test that measures.
Object.defineProperty(window, 'agentHostCost', { value: list.cost });
post({ type: 'ready' });

function update(now: State, fresh: boolean): void {
  state = now;
  composer.update(now);
  dock.update(now, list.transcript, fresh);
  empty.update(now);
  showEmpty(list.empty && !now.running);
  document.body.dataset['running'] = String(now.running);
  tellConnection(now);
}

function showEmpty(nothing: boolean): void {
  empty.element.hidden = !nothing;
  list.element.hidden = nothing;
}

function tellConnection({ connection: { status, text }, trusted }: State): void {
  const bad = status === 'missing' || status === 'failed';
  banner.hidden = status === 'ready' && trusted;
  banner.className = `banner ${status}`;
  banner.setAttribute('role', bad ? 'alert' : 'status');
  banner.replaceChildren(el('div', 'banner-text', {}, bad ? icon('warning') : '', el('span', '', {}, status === 'ready' ? 'Restricted Mode: the agent only reads here.' : text)));
  const acts = el('div', 'buttons');
  if (status === 'missing') acts.append(button('Install it for this editor', 'primary', () => post({ type: 'command', command: 'installServer' })), button('Settings', 'secondary', () => post({ type: 'command', command: 'serverSettings' })));
  if (status === 'failed') acts.append(button('Restart', 'primary', () => post({ type: 'command', command: 'restart' })), button('Show the log', 'secondary', () => post({ type: 'command', command: 'showLog' })));
  if (status === 'ready') acts.append(button('Manage trust', 'secondary', () => post({ type: 'command', command: 'manageTrust' })));
  if (acts.childElementCount) banner.append(acts);
}

function announce(steps: Step[]): void {
  for (const step of steps) {
    if (step.step === 'ask') say(`Question: ${step.ask.title}. Control Alt Y allows it once, Control Alt N denies it.`);
    if (step.step === 'failure') say(step.error.error);
    if (step.step === 'delta' && step.delta.delta.kind === 'ended') say(`The run has ended: ${step.delta.delta.status}`);
  }
}

function say(text: string): void {
  live.textContent = text;
}
