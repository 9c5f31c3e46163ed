// What a prompt names becomes what the host is given: context by URI and lines, problems as text.

import * as vscode from 'vscode';
import type { ContextItem, ImagePartWire, TextPartWire } from '../wire.ts';
import type { Attachment } from '../core/protocol.ts';
import { mentions, type Mention } from '../core/mentions.ts';
import type { Prepared } from './sessions.ts';

const MOST_PROBLEMS = 50;

/** The prompt for the host, and the names that nothing was found for. */
export async function prepare(text: string, attached: readonly Attachment[] = []): Promise<Prepared & { unknown: string[] }> {
  const context: ContextItem[] = [];
  const unknown: string[] = [];
  const parts: (TextPartWire | ImagePartWire)[] = [{ type: 'text', text }];
  for (const mention of mentions(text)) {
    switch (mention.kind) {
      case 'selection': {
        const selected = selection();
        if (selected) context.push(selected);
        else unknown.push('@selection (nothing is selected)');
        break;
      }
      case 'problems':
        parts.push({ type: 'text', text: problems() });
        break;
      case 'file': {
        const item = await file(mention);
        if (item) context.push(item);
        else unknown.push(`@${mention.path}`);
      }
    }
  }
  parts.push(...attached.map(({ mediaType, data }): ImagePartWire => ({ type: mediaType === 'application/pdf' ? 'document' : 'image', mediaType, data })));
  return { prompt: parts, context, unknown };
}

/** The file of that name: as given, or below a folder of the workspace. */
export async function find(path: string): Promise<vscode.Uri | null> {
  if (/^(?:\/|[A-Za-z]:[\\/])/.test(path)) return (await exists(vscode.Uri.file(path))) ? vscode.Uri.file(path) : null;
  const folders = vscode.workspace.workspaceFolders ?? [];
  const named = folders.find(({ name }) => path.startsWith(`${name}/`));
  const candidates = folders.map(({ uri }) => vscode.Uri.joinPath(uri, path));
  if (named) candidates.unshift(vscode.Uri.joinPath(named.uri, path.slice(named.name.length + 1)));
  for (const uri of candidates) if (await exists(uri)) return uri;
  return null;
}

/** The lines of a selection, from 1; one that ends before the first character of a line ends a line earlier. */
export function selectedLines({ selection }: vscode.TextEditor): { first: number; last: number } {
  const { start, end } = selection;
  return { first: start.line + 1, last: Math.max(start.line, end.character === 0 && end.line > start.line ? end.line - 1 : end.line) + 1 };
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  return vscode.workspace.fs.stat(uri).then(() => true, () => false);
}

async function file({ path, lines }: Extract<Mention, { kind: 'file' }>): Promise<ContextItem | null> {
  const uri = await find(path);
  if (!uri) return null;
  if (!lines) return { uri: uri.toString() };
  return { uri: uri.toString(), range: { start: { line: lines.first - 1, character: 0 }, end: { line: lines.last, character: 0 } } };
}

function selection(): ContextItem | null {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.selection.isEmpty) return null;
  const { start, end } = editor.selection;
  return { uri: editor.document.uri.toString(), range: { start: place(start), end: place(end) } };
}

function place({ line, character }: vscode.Position): { line: number; character: number } {
  return { line, character };
}

function problems(): string {
  const uri = vscode.window.activeTextEditor?.document.uri;
  const all = uri ? [[uri, vscode.languages.getDiagnostics(uri)] as const] : vscode.languages.getDiagnostics();
  const lines = all.flatMap(([where, found]) => found.map((each) => {
    const severity = ['error', 'warning', 'information', 'hint'][each.severity] ?? 'problem';
    return `${vscode.workspace.asRelativePath(where)}:${each.range.start.line + 1}: ${severity}: ${each.message.replace(/\s+/g, ' ')}`;
  }));
  if (!lines.length) return 'The editor shows no problems.';
  const left = lines.length > MOST_PROBLEMS ? `\n… and ${lines.length - MOST_PROBLEMS} more` : '';
  return `Problems that the editor shows:\n${lines.slice(0, MOST_PROBLEMS).join('\n')}${left}`;
}
