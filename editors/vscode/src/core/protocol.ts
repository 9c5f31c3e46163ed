// What the extension and the transcript's page say to each other. Not here: the host's wire (wire.ts).

import type { WaitingWire } from '../wire.ts';
import type { Item, RunState, Step } from './transcript.ts';

/** What the page shows around the transcript. */
export interface State {
  title: string;
  connection: { status: 'starting' | 'ready' | 'missing' | 'failed'; text: string };
  running: boolean;
  /** Another window runs this session: it is shown, and can't be told anything from here. */
  elsewhere: boolean;
  stopping: boolean;
  model: string;
  role: string;
  trusted: boolean;
  pending: WaitingWire[];
  /** The folders of the workspace, which are not repeated in each title. */
  folders: string[];
  foldTools: boolean;
  /** How full the model's context is, in tokens; null: not known. */
  context: { tokens: number; window: number } | null;
  /** Why the chosen model can't be used; "": it can, or nobody knows yet. */
  modelProblem: string;
  /** The last kept sessions, newest first. */
  recent: { sessionId: string; title: string; when: string }[];
  /** How much guidance counts here; null: not known. */
  guidance: { instructions: number; skills: number; prompts: number; problems: number } | null;
  /** The file that is looked at, as a mention; "": none. */
  file: string;
}

export interface Suggestion { insert: string; label: string; detail: string }

/** An image or a PDF that goes with a prompt; `data` is base64. */
export interface Attachment { name: string; mediaType: string; data: string }

/** What a model can be given. */
export const MEDIA_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'application/pdf'];
export const MOST_ATTACHED = 8;
/** Characters of base64: about 5 MB. */
export const LONGEST_DATA = 7_000_000;

export type ToPage =
  | { type: 'snapshot'; session: string; items: Item[]; runs: Record<string, RunState>; state: State }
  | { type: 'steps'; session: string; steps: Step[] }
  | { type: 'state'; state: State }
  | { type: 'suggestions'; id: number; found: Suggestion[] }
  | { type: 'insert'; text: string }
  | { type: 'focus' };

export type FromPage =
  | { type: 'ready' }
  | { type: 'send'; text: string; when: 'now' | 'next'; attached: Attachment[] }
  /** Files that were dropped on the prompt. */
  | { type: 'drop'; uris: string[] }
  | { type: 'stop' }
  | { type: 'answer'; runId: string; callId: string; optionId: string; reason: string; accepted: string[] | null }
  | { type: 'diff'; runId: string; callId: string; uri: string }
  | { type: 'file'; uri: string }
  | { type: 'link'; href: string }
  | { type: 'copy'; text: string }
  | { type: 'suggest'; id: number; trigger: '@' | '/'; query: string }
  | { type: 'unqueue'; id: string }
  | { type: 'open'; id: string }
  | { type: 'fork' | 'again'; runId: string }
  /** No `uris`: all that the run changed. */
  | { type: 'revert'; runId: string; uris: string[] }
  /** What the run changed in the file of that name; no name: in all. */
  | { type: 'changes'; runId: string; name: string }
  | { type: 'command'; command: PageCommand };

const COMMANDS = ['pickModel', 'pickRole', 'setKey', 'installServer', 'restart', 'showLog', 'newSession', 'history', 'compact', 'guidance', 'useDemo', 'serverSettings', 'manageTrust'] as const;
/** Commands that a button of the page runs, and no others. */
export type PageCommand = (typeof COMMANDS)[number];

const TYPES = ['ready', 'send', 'drop', 'stop', 'answer', 'diff', 'file', 'link', 'copy', 'suggest', 'unqueue', 'open', 'fork', 'again', 'revert', 'changes', 'command'];
const TEXTS = ['text', 'when', 'runId', 'callId', 'optionId', 'reason', 'uri', 'href', 'query', 'trigger', 'command', 'name'];

/** What came from the page, if it is a message at all. */
export function fromPage(value: unknown): FromPage | null {
  if (typeof value !== 'object' || value === null) return null;
  const message = value as Record<string, unknown>;
  if (!TYPES.includes(String(message['type']))) return null;
  if (TEXTS.some((key) => key in message && typeof message[key] !== 'string')) return null;
  if (message['type'] === 'command' && !COMMANDS.includes(message['command'] as PageCommand)) return null;
  const { accepted, uris, attached } = message;
  if (message['type'] === 'send' ? !areAttachments(attached) : attached !== undefined) return null;
  if (accepted !== undefined && accepted !== null && !areTexts(accepted)) return null;
  if (message['type'] === 'revert' || message['type'] === 'drop' ? !areTexts(uris) : uris !== undefined) return null;
  return message as FromPage;
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function areAttachments(value: unknown): boolean {
  return Array.isArray(value) && value.length <= MOST_ATTACHED && value.every((each: Partial<Attachment> | null) =>
    typeof each?.name === 'string' && MEDIA_TYPES.includes(each.mediaType ?? '') && typeof each.data === 'string' && each.data.length <= LONGEST_DATA && /^[A-Za-z0-9+/]*={0,2}$/.test(each.data));
}
