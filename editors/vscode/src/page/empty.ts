// What stands where nothing was said yet: what this is, what is missing, ways to begin, and the last sessions.

import { plain } from '../core/plain.ts';
import type { FromPage, State } from '../core/protocol.ts';
import { button, el, labelled } from './dom.ts';
import { icon } from './icons.ts';

const STARTS: [string, string][] = [
  ['Explain this file', 'Explain what @file does, and how it is used.'],
  ['Fix its problems', 'Fix the @problems of @file.'],
  ['Write tests for it', 'Write tests for @file, in the style of the tests that are there.'],
];
const MOST_RECENT = 4;

export class Empty {
  readonly element = el('div', 'empty');
  #post: (message: FromPage) => void;
  #write: (text: string) => void;
  #told = '';

  constructor(post: (message: FromPage) => void, write: (text: string) => void) {
    this.#post = post;
    this.#write = write;
  }

  update(state: State): void {
    const told = JSON.stringify([state.recent, state.modelProblem, state.guidance, state.file, state.connection.status]);
    if (told === this.#told) return;
    this.#told = told;
    const head = el('div', 'welcome', {}, el('div', 'logo', {}, icon('agent')), el('h1', '', {}, 'What should be done?'),
      el('p', 'dim', {}, 'The agent works on the text that you see, unsaved changes included. It asks before it changes a file or runs a command.'));
    this.element.replaceChildren(...[head, this.#problem(state), this.#starts(state), this.#recent(state), this.#guidance(state)].filter((each) => each !== null));
  }

  #problem({ modelProblem, connection }: State): HTMLElement | null {
    if (!modelProblem || connection.status !== 'ready') return null;
    return el('div', 'card', {}, el('p', '', {}, plain(modelProblem)), el('div', 'buttons', {},
      labelled('key', 'Set a key…', 'primary', () => this.#post({ type: 'command', command: 'setKey' })),
      button('Choose the model…', 'secondary', () => this.#post({ type: 'command', command: 'pickModel' })),
      button('Try the demo', 'secondary', () => this.#post({ type: 'command', command: 'useDemo' }), 'A script that needs no key')));
  }

  #starts({ file, connection }: State): HTMLElement | null {
    if (!file || ['missing', 'failed'].includes(connection.status)) return null;
    return el('div', 'starts', {}, ...STARTS.map(([label, text]) => button(label, 'start', () => this.#write(text.replace('@file', file)))));
  }

  #recent({ recent }: State): HTMLElement | null {
    if (!recent.length) return null;
    const rows = recent.slice(0, MOST_RECENT).map(({ sessionId, title, when }) => {
      const row = button('', 'recent-session', () => this.#post({ type: 'open', id: sessionId }), `Open ${plain(title)}`);
      row.append(el('span', 'title', {}, plain(title)), el('span', 'dim', {}, when));
      return el('li', '', {}, row);
    });
    const all = button('All sessions', 'link', () => this.#post({ type: 'command', command: 'history' }));
    return el('section', 'recent', {}, el('h2', '', {}, 'Recent'), el('ul', '', {}, ...rows), all);
  }

  #guidance({ guidance }: State): HTMLElement | null {
    if (!guidance) return null;
    const { instructions, skills, prompts, problems } = guidance;
    const some = (count: number, one: string, more: string): string => (count ? `${count} ${count === 1 ? one : more}` : '');
    const said = [some(instructions, 'AGENTS.md', 'AGENTS.md files'), some(skills, 'skill', 'skills'), some(prompts, 'prompt file', 'prompt files')].filter(Boolean).join(', ');
    if (!said && !problems) return null;
    const bad = some(problems, 'thing is not', 'things are not');
    const told = [said && `Used here: ${said}`, bad && `${bad} used`].filter(Boolean).join('; ');
    const row = labelled(problems ? 'warning' : 'skill', told, 'link', () => this.#post({ type: 'command', command: 'guidance' }), 'Show the instructions, skills and prompts that count here');
    return el('div', `guidance ${problems ? 'bad' : ''}`, {}, row);
  }
}
