// Where a person writes: Enter sends (or steers), Alt+Enter queues, `@` and `/` complete.

import { typing } from '../core/mentions.ts';
import type { FromPage, State, Suggestion } from '../core/protocol.ts';
import { plain } from '../core/plain.ts';
import { button, el } from './dom.ts';

export class Composer {
  readonly element: HTMLElement;
  #post: (message: FromPage) => void;
  #keep: (draft: string) => void;
  #text = el('textarea', '', { rows: '2', placeholder: 'What should be done? @ names files', 'aria-label': 'Prompt', spellcheck: 'true', role: 'combobox', 'aria-expanded': 'false', 'aria-controls': 'suggestions', 'aria-autocomplete': 'list' });
  #list = el('ul', 'suggestions', { id: 'suggestions', role: 'listbox', 'aria-label': 'Suggestions' });
  #pending = el('ul', 'pending', { 'aria-label': 'Waiting prompts' });
  #send = button('Send', 'primary', () => this.#submit('now'));
  #queue = button('Queue', 'secondary', () => this.#submit('next'), 'Run it after this one (Alt+Enter)');
  #stop = button('Stop', 'deny', () => this.#post({ type: 'stop' }), 'Stop the run');
  #model = button('', 'pick', () => this.#post({ type: 'command', command: 'pickModel' }));
  #role = button('', 'pick', () => this.#post({ type: 'command', command: 'pickRole' }));
  #found: Suggestion[] = [];
  #at = 0;
  #asked = 0;
  #place: { from: number; to: number } | null = null;
  #running = false;

  constructor(post: (message: FromPage) => void, draft: string, keep: (draft: string) => void) {
    this.#post = post;
    this.#keep = keep;
    this.#text.value = draft;
    this.#list.hidden = true;
    this.#send.disabled = true; // until it is known what goes on
    const mention = button('@', 'pick', () => this.insert('@', false), 'Name a file, the selection or problems');
    this.element = el('form', 'composer', {}, this.#pending, this.#list, this.#text,
      el('div', 'tools', {}, el('div', 'picks', {}, mention, this.#model, this.#role), el('div', 'acts', {}, this.#stop, this.#queue, this.#send)));
    this.element.addEventListener('submit', (event) => event.preventDefault());
    this.#text.addEventListener('keydown', (event) => this.#key(event));
    this.#text.addEventListener('input', () => this.#typed());
    this.#text.addEventListener('blur', () => window.setTimeout(() => this.#close(), 150));
    this.#grow();
  }

  update(state: State): void {
    this.#running = state.running;
    this.#stop.hidden = !state.running;
    this.#stop.disabled = state.stopping;
    this.#stop.textContent = state.stopping ? 'Stopping…' : 'Stop';
    this.#queue.hidden = !state.running;
    this.#send.textContent = state.running ? 'Steer' : 'Send';
    this.#send.title = state.running ? 'Say it to the run that goes on (Enter)' : 'Send (Enter)';
    // While the server starts, what is sent waits for it.
    this.#send.disabled = !['ready', 'starting'].includes(state.connection.status);
    pick(this.#model, state.model || 'model', 'Model');
    pick(this.#role, state.role || 'role', 'Role');
    this.#pending.replaceChildren(...state.pending.map(({ id, prompt, when }) => el('li', '', {},
      el('span', 'dim', {}, when === 'now' ? 'steers' : 'next'), el('span', 'prompt', {}, plain(prompt)),
      button('✕', 'link', () => this.#post({ type: 'unqueue', id }), `Take back: ${plain(prompt).slice(0, 80)}`))));
  }

  focus(): void {
    this.#text.focus();
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
    this.#post({ type: 'send', text, when: this.#running ? when : 'now' });
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
    this.#text.style.height = `${Math.min(this.#text.scrollHeight + 2, 240)}px`;
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

function pick(button: HTMLButtonElement, text: string, what: string): void {
  button.textContent = plain(text);
  button.title = `${what}: ${text}`;
  button.setAttribute('aria-label', `${what}: ${text}. Choose another`);
}
