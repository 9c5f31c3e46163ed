// The transcript's page: wires the list, the composer and the messages. It loads nothing and evaluates nothing.

import type { FromPage, State, ToPage } from '../core/protocol.ts';
import type { Step } from '../core/transcript.ts';
import { Composer } from './composer.ts';
import { button, el } from './dom.ts';
import { TranscriptList } from './list.ts';

declare function acquireVsCodeApi(): { postMessage(message: unknown): void; getState(): unknown; setState(state: unknown): void };

const api = acquireVsCodeApi();
const kept = (api.getState() ?? {}) as { draft?: string };
const post = (message: FromPage): void => api.postMessage(message);
const live = el('div', 'live', { role: 'status', 'aria-live': 'polite' });
const banner = el('div', 'banner');
const empty = el('div', 'empty', {}, el('h1', '', {}, 'What should be done?'), el('p', 'dim', {}, 'The agent works on the text that you see, unsaved changes included. It asks before it changes a file or runs a command.'));
let state: State | null = null;
let session = '';

const list = new TranscriptList({
  post,
  copy: (text) => { post({ type: 'copy', text }); say('Copied'); },
  say,
  foldTools: () => state?.foldTools ?? true,
  shortened: (text) => (state?.folders ?? []).reduce((short, folder) => short.replaceAll(`${folder}/`, ''), text),
});
const composer = new Composer(post, kept.draft ?? '', (draft) => api.setState({ draft }));
document.body.append(banner, empty, list.element, list.latest, live, composer.element);

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
      update(data.state);
      return;
    case 'steps':
      if (data.session !== session) return;
      list.take(data.steps);
      empty.hidden = true;
      return announce(data.steps);
    case 'state':
      return update(data.state);
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

function update(now: State): void {
  state = now;
  composer.update(now);
  empty.hidden = list.transcript.items.length > 0;
  document.body.dataset['running'] = String(now.running);
  const { status, text } = now.connection;
  banner.hidden = status === 'ready' && now.trusted;
  banner.className = `banner ${status}`;
  banner.setAttribute('role', status === 'missing' || status === 'failed' ? 'alert' : 'status');
  banner.replaceChildren(el('span', '', {}, status === 'ready' ? 'Restricted Mode: the agent only reads here.' : text));
  if (status === 'missing') banner.append(button('Install it for this editor', 'primary', () => post({ type: 'command', command: 'installServer' })));
  if (status === 'failed') banner.append(button('Restart', 'primary', () => post({ type: 'command', command: 'restart' })), button('Show the log', 'secondary', () => post({ type: 'command', command: 'showLog' })));
}

function announce(steps: Step[]): void {
  for (const step of steps) {
    if (step.step === 'ask') say(`Question: ${step.ask.title}`);
    if (step.step === 'failure') say(step.error.error);
    if (step.step === 'delta' && step.delta.delta.kind === 'ended') say(`The run has ended: ${step.delta.delta.status}`);
  }
}

function say(text: string): void {
  live.textContent = text;
}
