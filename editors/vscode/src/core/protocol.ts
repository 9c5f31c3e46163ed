// What the extension and the transcript's page say to each other. Not here: the host's wire (wire.ts).

import type { WaitingWire } from '../wire.ts';
import type { Item, RunState, Step } from './transcript.ts';

/** What the page shows around the transcript. */
export interface State {
  title: string;
  connection: { status: 'starting' | 'ready' | 'missing' | 'failed'; text: string };
  running: boolean;
  stopping: boolean;
  model: string;
  role: string;
  trusted: boolean;
  pending: WaitingWire[];
  /** The folders of the workspace, which are not repeated in each title. */
  folders: string[];
  foldTools: boolean;
}

export interface Suggestion { insert: string; label: string; detail: string }

export type ToPage =
  | { type: 'snapshot'; session: string; items: Item[]; runs: Record<string, RunState>; state: State }
  | { type: 'steps'; session: string; steps: Step[] }
  | { type: 'state'; state: State }
  | { type: 'suggestions'; id: number; found: Suggestion[] }
  | { type: 'insert'; text: string }
  | { type: 'focus' };

export type FromPage =
  | { type: 'ready' }
  | { type: 'send'; text: string; when: 'now' | 'next' }
  | { type: 'stop' }
  | { type: 'answer'; runId: string; callId: string; optionId: string; reason: string; accepted: string[] | null }
  | { type: 'diff'; runId: string; callId: string; uri: string }
  | { type: 'file'; uri: string }
  | { type: 'link'; href: string }
  | { type: 'copy'; text: string }
  | { type: 'suggest'; id: number; trigger: '@' | '/'; query: string }
  | { type: 'unqueue'; id: string }
  | { type: 'fork' | 'revert'; runId: string }
  | { type: 'command'; command: 'pickModel' | 'pickRole' | 'setKey' | 'installServer' | 'restart' | 'showLog' | 'newSession' | 'history' };

const TYPES = ['ready', 'send', 'stop', 'answer', 'diff', 'file', 'link', 'copy', 'suggest', 'unqueue', 'fork', 'revert', 'command'];
const TEXTS = ['text', 'when', 'runId', 'callId', 'optionId', 'reason', 'uri', 'href', 'query', 'trigger', 'command'];

/** What came from the page, if it is a message at all. */
export function fromPage(value: unknown): FromPage | null {
  if (typeof value !== 'object' || value === null) return null;
  const message = value as Record<string, unknown>;
  if (!TYPES.includes(String(message['type']))) return null;
  if (TEXTS.some((key) => key in message && typeof message[key] !== 'string')) return null;
  const { accepted } = message;
  if (accepted !== undefined && accepted !== null && !(Array.isArray(accepted) && accepted.every((each) => typeof each === 'string'))) return null;
  return message as FromPage;
}
