// Where a person writes: Enter sends (or steers), Alt+Enter queues, `@` and `/` complete, the arrows recall.

import { typing } from '../core/mentions.ts';
import type { FromPage, State, Suggestion } from '../core/protocol.ts';
import { plain } from '../core/plain.ts';
import { Attachments } from './attachments.ts';
import { button, el, iconButton, labelled } from './dom.ts';
import { icon } from './icons.ts';

export class Composer {
  readonly element: HTMLElement;
  #post: (message: FromPage) => void;
  #keep: (draft: string) => void;
  #text = el('textarea', '', { rows: '1', 'aria-label': 'Prompt', spellcheck: 'true', role: 'combobox', 'aria-expanded': 'false', 'aria-controls': 'suggestions', 'aria-autocomplete': 'list' });
  #list = el('ul', 'suggestions', { id: 'suggestions', role: 'listbox', 'aria-label': 'Suggestions' });
  #owner = el('div', 'owner', { role: 'status' });
  #attached = new Attachments();
  /** Names the file that is looked at, with one click. */
  #file = button('', 'pick file', () => this.insert(this.#file.dataset['mention'] ?? ''));
  #pending = el('ul', 'pending', { 'aria-label': 'Waiting prompts' });
  #send = iconButton('send', 'Send (Enter)', () => this.#submit('now'), 'round primary');
  #queue = labelled('queue', 'Queue', 'link queue', () => this.#submit('next'), 'Run it after this one (Alt+Enter)');
  #stop = iconButton('stop', 'Stop the run', () => this.#post({ type: 'stop' }), 'round deny');
  #model = button('', 'pick', () => this.#post({ type: 'command', command: 'pickModel' }));
  #role = button('', 'pick', () => this.#post({ type: 'command', command: 'pickRole' }));
  #context = el('span', 'context', { role: 'img' });
  #past: () => string[];
  /** Which prompt of the past stands there; 0: none, what was being written is in `draft`. */
  #recalled = 0;
  #draft = '';
  #found: Suggestion[] = [];
  #at = 0;
  #asked = 0;
  #place: { from: number; to: number } | null = null;
  #running = false;

  /** `past`: the prompts of the session, oldest first. */
  constructor(post: (message: FromPage) => void, draft: string, keep: (draft: string) => void, past: () => string[]) {
    this.#post = post;
    this.#past = past;
    this.#keep = keep;
    this.#text.value = draft;
    this.#list.hidden = true;
    this.#owner.hidden = true;
    this.#owner.append(icon('elsewhere'), el('span', '', {}, 'Runs in another window, and is only shown here. Answer and stop it there.'),
      button('Fork', 'link', () => this.#post({ type: 'fork', runId: '' }), 'Go on here, in a new session that begins like this one'));
    this.#send.disabled = true; // until it is known what goes on
    this.#queue.hidden = true;
    const mention = iconButton('at', 'Name a file, the selection or problems (@)', () => this.insert('@', false), 'pick');
    this.element = el('form', 'composer', {}, this.#owner, this.#pending, this.#list,
      el('div', 'writing', {}, this.#attached.element, this.#text,
        el('div', 'tools', {}, el('div', 'picks', {}, mention, this.#model, this.#role, this.#file), this.#context, el('div', 'acts', {}, this.#queue, this.#stop, this.#send))));
    this.element.addEventListener('submit', (event) => event.preventDefault());
    this.#text.addEventListener('keydown', (event) => this.#key(event));
    this.#text.addEventListener('input', () => this.#typed());
    this.#text.addEventListener('paste', (event) => { if (this.#attached.take(event.clipboardData?.files ?? [])) event.preventDefault(); });
    this.element.addEventListener('dragover', (event) => { event.preventDefault(); this.element.classList.add('over'); });
    this.element.addEventListener('dragleave', () => this.element.classList.remove('over'));
    this.element.addEventListener('drop', (event) => this.#dropped(event));
    this.#text.addEventListener('blur', () => window.setTimeout(() => document.activeElement !== this.#text && this.#close(), 150));
    this.#grow();
  }

  update(state: State): void {
    this.#running = state.running;
    this.#stop.hidden = !state.running;
    this.#stop.disabled = state.stopping;
    name(this.#stop, state.stopping ? 'Stopping…' : 'Stop the run (Ctrl+Alt+.)');
    name(this.#send, state.running ? 'Steer: say it to the run that goes on (Enter)' : 'Send (Enter)');
    this.#owner.hidden = !state.elsewhere;
    this.#text.placeholder = state.elsewhere ? 'Write what comes next; it can be sent when that run has ended' : state.running ? 'Steer it, or queue what comes next' : 'Ask for something (@ file, / command)';
    // While the server starts, what is sent waits for it.
    this.#send.disabled = state.elsewhere || !['ready', 'starting'].includes(state.connection.status);
    pick(this.#model, state.model ? (state.model.split('/').at(-1) ?? '') : 'model', state.model || 'the first that has a key', 'Model');
    pick(this.#role, state.role || 'role', state.role || 'coder', 'Role');
    this.#file.hidden = !state.file;
    this.#file.dataset['mention'] = state.file;
    this.#file.replaceChildren(icon('plus'), el('span', '', {}, plain(state.file.split('/').at(-1)?.replace(/^@?"?|"$/g, '') ?? '')));
    name(this.#file, `Name ${plain(state.file)} in the prompt`);
    this.#showContext(state);
    this.#pending.replaceChildren(...state.pending.map(({ id, prompt, when }) => el('li', '', {},
      el('span', 'badge', { title: when === 'now' ? 'Said before the next call of the model' : 'Runs when this one is done' }, when === 'now' ? 'now' : 'next'), el('span', 'prompt', { title: plain(prompt) }, plain(prompt)),
      iconButton('cross', `Take back: ${plain(prompt).slice(0, 80)}`, () => this.#post({ type: 'unqueue', id })))));
    this.#buttons();
  }

  /** Files of the workspace are named in the prompt, images from elsewhere go with it. */
  #dropped(event: DragEvent): void {
    event.preventDefault();
    this.element.classList.remove('over');
    const uris = (event.dataTransfer?.getData('text/uri-list') ?? '').split(/\r?\n/).filter((line) => line && !line.startsWith('#'));
    if (uris.length) this.#post({ type: 'drop', uris });
    else this.#attached.take(event.dataTransfer?.files ?? []);
  }

  /** How full the model's context is, from where it matters. */
  #showContext({ context }: State): void {
    const percent = context ? Math.min(100, Math.round((context.tokens / context.window) * 100)) : 0;
    this.#context.hidden = !context || percent < 1;
    if (!context) return;
    this.#context.textContent = `${percent}%`;
    this.#context.classList.toggle('full', percent >= 80);
    this.#context.title = `${percent}% of the model's context is used: ${context.tokens} of ${context.window} tokens. /compact makes room.`;
    this.#context.setAttribute('aria-label', `${percent}% of the context is used`);
  }

  /** Only what can be done now: with an empty prompt there is nothing to send, steer or queue. */
  #buttons(): void {
    const written = this.#text.value.trim() !== '';
    this.#queue.hidden = !this.#running || !written;
    this.#send.hidden = this.#running && !written;
  }

  focus(): void {
    this.#text.focus();
  }

  /** Another text in place of what is written. */
  replace(text: string): void {
    this.#text.value = text;
    this.#text.focus();
    this.#typed();
    this.#close();
  }

  /** Put text at the caret. */
  insert(text: string, spaced = true): void {
    const { selectionStart, value } = this.#text;
    const before = spaced && selectionStart > 0 && !/\s$/.test(value.slice(0, selectionStart)) ? ' ' : '';
    this.#text.setRangeText(before + text + (spaced ? ' ' : ''), selectionStart, this.#text.selectionEnd, 'end');
    this.#text.focus();
    this.#typed();
  }

  /** What may be meant by what is typed; an answer to an older question is dropped. */
  suggest(id: number, found: Suggestion[]): void {
    if (id !== this.#asked || !this.#place) return;
    this.#found = found.slice(0, 30);
    this.#at = 0;
    this.#showList();
  }

  #submit(when: 'now' | 'next'): void {
    const text = this.#text.value.trim();
    if (!text || this.#send.disabled) return;
    this.#post({ type: 'send', text, when: this.#running ? when : 'now', attached: this.#attached.handOver() });
    this.#text.value = '';
    this.#typed();
  }

  #key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (!this.#list.hidden && this.#choosing(event)) return event.preventDefault();
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      this.#submit(event.altKey ? 'next' : 'now');
    }
    if (['ArrowUp', 'ArrowDown'].includes(event.key) && !event.shiftKey && !event.altKey && this.#recall(event.key === 'ArrowUp' ? 1 : -1)) event.preventDefault();
  }

  /** A prompt of before, where the arrow would leave the text. */
  #recall(by: number): boolean {
    const { value, selectionStart, selectionEnd } = this.#text;
    const atEdge = by > 0 ? !value.slice(0, selectionStart).includes('\n') : !value.slice(selectionEnd).includes('\n');
    const past = this.#past();
    const wanted = this.#recalled + by;
    if (!atEdge || wanted < 0 || wanted > past.length || (this.#recalled === 0 && value.trim() !== '')) return false;
    if (this.#recalled === 0) this.#draft = value;
    this.#text.value = wanted === 0 ? this.#draft : (past.at(-wanted) ?? '');
    this.#typed();
    this.#recalled = wanted;
    return true;
  }

  #choosing(event: KeyboardEvent): boolean {
    switch (event.key) {
      case 'ArrowDown':
      case 'ArrowUp':
        this.#at = (this.#at + (event.key === 'ArrowDown' ? 1 : -1) + this.#found.length) % this.#found.length;
        this.#showList();
        return true;
      case 'Enter':
      case 'Tab':
        if (event.shiftKey) return false;
        this.#choose(this.#at);
        return true;
      case 'Escape':
        this.#close();
        return true;
      default:
        return false;
    }
  }

  #typed(): void {
    this.#recalled = 0;
    this.#buttons();
    this.#grow();
    this.#keep(this.#text.value);
    const word = typing(this.#text.value, this.#text.selectionStart);
    this.#place = word && { from: word.from, to: word.to };
    if (!word) return this.#close();
    this.#asked += 1;
    this.#post({ type: 'suggest', id: this.#asked, trigger: word.trigger, query: word.query });
  }

  #grow(): void {
    this.#text.style.height = 'auto';
    this.#text.style.height = `${Math.min(this.#text.scrollHeight, 240)}px`;
  }

  #showList(): void {
    this.#list.hidden = this.#found.length === 0;
    this.#text.setAttribute('aria-expanded', String(!this.#list.hidden));
    this.#list.replaceChildren(...this.#found.map(({ label, detail }, index) => {
      const row = el('li', index === this.#at ? 'chosen' : '', { role: 'option', id: `suggestion-${index}`, 'aria-selected': String(index === this.#at) },
        el('span', '', {}, plain(label)), el('span', 'dim', {}, plain(detail)));
      row.addEventListener('mousedown', (event) => {
        event.preventDefault();
        this.#choose(index);
      });
      return row;
    }));
    if (!this.#list.hidden) this.#text.setAttribute('aria-activedescendant', `suggestion-${this.#at}`);
    this.#list.children[this.#at]?.scrollIntoView({ block: 'nearest' });
  }

  #choose(index: number): void {
    const chosen = this.#found[index];
    if (!chosen || !this.#place) return;
    this.#text.setRangeText(`${chosen.insert} `, this.#place.from, this.#place.to, 'end');
    this.#close();
    this.#typed();
  }

  #close(): void {
    this.#list.hidden = true;
    this.#place = null;
    this.#text.setAttribute('aria-expanded', 'false');
    this.#text.removeAttribute('aria-activedescendant');
  }
}

function pick(button: HTMLButtonElement, text: string, whole: string, what: string): void {
  button.replaceChildren(el('span', '', {}, plain(text)), icon('chevron'));
  button.title = `${what}: ${plain(whole)}`;
  button.setAttribute('aria-label', `${what}: ${plain(whole)}. Choose another`);
}

function name(button: HTMLButtonElement, title: string): void {
  button.title = title;
  button.setAttribute('aria-label', title);
}
