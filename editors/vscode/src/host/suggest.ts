// Completes `@` with files, the selection and problems, and `/` with the view's own commands and the host's prompts.

import * as vscode from 'vscode';
import { written } from '../core/mentions.ts';
import type { Suggestion } from '../core/protocol.ts';
import type { Facts } from './facts.ts';
import { selectedLines } from './prompt.ts';

export const OWN_COMMANDS: Record<string, string> = {
  new: 'Begin a new session', history: 'Open a kept session', model: 'Choose the model', role: 'Choose the role', stop: 'Stop the run',
};
const MOST = 20;

export async function suggestions(facts: Facts, trigger: '@' | '/', query: string): Promise<Suggestion[]> {
  return trigger === '/' ? slashes(facts, query) : ats(query);
}

/** The view's own commands first; a prompt file of the same name can't be called here. */
async function slashes(facts: Facts, query: string): Promise<Suggestion[]> {
  if (query === '') await facts.readGuidance();
  const own = Object.entries(OWN_COMMANDS).map(([name, detail]) => ({ insert: `/${name}`, label: `/${name}`, detail }));
  const prompts = facts.prompts.filter(({ name }) => !(name in OWN_COMMANDS)).map(({ name, description, argumentHint }) => ({ insert: `/${name}`, label: `/${name}${argumentHint ? ` ${argumentHint}` : ''}`, detail: description }));
  const lower = query.toLowerCase();
  return [...own, ...prompts].filter(({ insert }) => insert.slice(1).toLowerCase().startsWith(lower));
}

async function ats(query: string): Promise<Suggestion[]> {
  const lower = query.toLowerCase();
  const words = [...selected(), { insert: '@problems', label: '@problems', detail: 'what the editor shows for the file' }]
    .filter(({ label }) => label.slice(1).toLowerCase().startsWith(lower));
  const open = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.flatMap(({ input }) => (input instanceof vscode.TabInputText && input.uri.scheme === 'file' ? [input.uri] : [])));
  const found = lower ? await files(lower) : [];
  const paths = [...new Set([...open, ...found].map((uri) => vscode.workspace.asRelativePath(uri)))]
    .filter((path) => path.toLowerCase().includes(lower))
    .sort((a, b) => rank(a, lower) - rank(b, lower) || a.length - b.length);
  return [...words, ...paths.slice(0, MOST).map((path) => ({ insert: written(path), label: path.split('/').at(-1) ?? path, detail: path }))];
}

function selected(): Suggestion[] {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.selection.isEmpty) return [];
  const { first, last } = selectedLines(editor);
  return [{ insert: '@selection', label: '@selection', detail: `${vscode.workspace.asRelativePath(editor.document.uri)}:${first}-${last}` }];
}

async function files(query: string): Promise<vscode.Uri[]> {
  const letters = query.replace(/[^\p{L}\p{N}._/-]/gu, '?').split('').map((each) => (/\p{L}/u.test(each) ? `[${each}${each.toUpperCase()}]` : each)).join('');
  return vscode.workspace.findFiles(`**/*${letters}*`, '**/{node_modules,.git,.venv}/**', 100);
}

/** Names that begin with it first, then names that hold it, then the rest. */
function rank(path: string, query: string): number {
  const name = (path.split('/').at(-1) ?? '').toLowerCase();
  return name.startsWith(query) ? 0 : name.includes(query) ? 1 : 2;
}
