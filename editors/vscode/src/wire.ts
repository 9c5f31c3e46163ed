// Made by `npm run wire` out of the server's schema; a test checks that it is current.

export type ActionServerWire = {
  pid?: number | null | undefined;
  restarts: number;
  sandbox: string;
};

/** `seq` counts from 1 in each run, without gaps. Of the past, several texts may come as one: then it stands for `seq` to `through`. */
export type AgentDelta = {
  sessionId: string;
  runId: string;
  seq: number;
  through?: number | null | undefined;
  origin: OriginWire;
  delta: StartedDelta | TextDelta | ReasoningDelta | ToolCallDelta | QuestionDelta | AnswerDelta | ToolOutputDelta | ToolResultDelta | EditDelta | PlanDelta | UsageDelta | LogDelta | RetryDelta | CompactedDelta | OmittedDelta | DiffDelta | EndedDelta;
};

/** No `optionId`: nobody answered, and `reason` says why. */
export type AnswerDelta = {
  kind: "answer";
  callId: string;
  optionId?: string | null | undefined;
  reason?: string | null | undefined;
};

/** Params that say nothing to us. */
export type Anything = Record<string, unknown>;

/** No `optionId`: the person did not choose, which denies. `accepted`: the ids of the parts that the option holds for, the others are refused; all of them if left out. */
export type AskAnswer = {
  optionId?: string | null | undefined;
  reason?: string | null | undefined;
  accepted?: (string)[] | null | undefined;
};

/** A question in full; `detail` is Markdown, `diff` unified and of all `parts` together. `title` tells all that fits in one line; `wish` only what `detail` and `diff` don't, for where these stand below it. `parts`: files, or places of one file, that the person may choose from. */
export type AskParams = {
  sessionId: string;
  runId: string;
  callId: string;
  title: string;
  wish?: string | null | undefined;
  detail: string;
  diff?: string | null | undefined;
  parts?: (AskPartWire)[] | null | undefined;
  options: (OptionWire)[];
  allowsReason: boolean;
};

/** A piece of an edit that can be accepted without the others; `diff` is its own, unified. */
export type AskPartWire = {
  id: string;
  title: string;
  uri: string;
  diff: string;
};

/** Everything up to now has been sent. `runId`: the run that goes on elsewhere. */
export type AttachAnswer = {
  cursor: string;
  runId?: string | null | undefined;
};

/** From where on: `cursor` of a page, or `after` a delta; else from the beginning. */
export type AttachParams = {
  sessionId: string;
  cursor?: string | null | undefined;
  after?: Seen | null | undefined;
};

/** `focus`: what the summary must hold above all. */
export type CompactSessionParams = {
  sessionId: string;
  focus?: string | undefined;
};

/** From here on the model knows what was before by its own `summary` only. `before` and `after` are tokens of the context, estimated. `why`: it was nearly full, it did not fit, or somebody asked for it. */
export type CompactedDelta = {
  kind: "compacted";
  why: "full" | "overflow" | "asked";
  before: number;
  after: number;
  summary: string;
};

export type ContextItem = {
  uri: string;
  range?: RangeWire | null | undefined;
};

/** An edit during which a host ended: what is there now tells what became of it. */
export type CutShortWire = {
  runId: string;
  uri: string;
  kind: "create" | "change" | "delete" | "move";
  outcome: "made" | "notMade" | "unknown";
};

/** False: it was not attached. */
export type DetachAnswer = {
  detached: boolean;
};

/** The host has ended an attachment; `reason` is a sentence. */
export type DetachedParams = {
  sessionId: string;
  reason: string;
};

/** The LSP Diagnostics that the editor shows for that document, whoever made them. */
export type DiagnosticsAnswer = {
  diagnostics: (Record<string, JsonValue>)[];
};

export type DiagnosticsParams = {
  uri: string;
};

/** All that the run changed as one unified diff; comes before `ended`, if anything changed. */
export type DiffDelta = {
  kind: "diff";
  text: string;
  omitted: (OmittedFileWire)[];
};

/** All that the run changed, unified; `omitted` are changed files that are not in it. */
export type DiffWire = {
  text: string;
  omitted: (OmittedFileWire)[];
};

export type DoneAnswer = {
  ok?: true | undefined;
};

/** `diff` is unified. */
export type EditDelta = {
  kind: "edit";
  callId: string;
  uri: string;
  diff: string;
  state: "proposed" | "applied";
};

/** Always the last, exactly once. `interrupted`: its host is gone; told by attach only. */
export type EndedDelta = {
  kind: "ended";
  status: "completed" | "stopped" | "failed" | "limit" | "refused" | "interrupted";
  reason?: string | null | undefined;
  exitCode?: number | null | undefined;
  signal?: string | null | undefined;
};

/** `error` is one sentence that says what to do. */
export type FailureWire = {
  error: string;
  code: string;
};

export type FileEditWire = {
  uri: string;
  kind: "create" | "change" | "delete";
};

export type ForkSessionAnswer = {
  sessionId: string;
};

/** `runId`: the last run that the copy holds; the last one that ended if left out. */
export type ForkSessionParams = {
  sessionId: string;
  runId?: string | null | undefined;
};

export type GuidanceAnswer = {
  instructions: (InstructionsWire)[];
  skills: (SkillWire)[];
  problems: (GuidanceProblemWire)[];
};

/** `line` counts from 1; severity error: it is not used. */
export type GuidanceProblemWire = {
  kind: "instructions" | "skill" | "prompt";
  name: string;
  source: string;
  line: number;
  reason: string;
  severity: "error" | "warning";
};

/** An image, or a document of `mediaType` application/pdf; `data` is base64. */
export type ImagePartWire = {
  type: "image" | "document";
  mediaType: string;
  data: string;
};

/** An AGENTS.md; no `folder`: it is the user's own. `omitted` bytes of it are not used. */
export type InstructionsWire = {
  source: string;
  folder?: string | null | undefined;
  omitted?: number | null | undefined;
};

export type JsonValue = unknown;

/** A question that was open when a host ended: the session's next run puts it once more. */
export type LeftOpenWire = {
  runId: string;
  callId: string;
  title: string;
};

/** What ends the run early; money in US dollars. */
export type LimitsWire = {
  maxTurns?: number | null | undefined;
  maxCostUsd?: number | null | undefined;
  wallSeconds?: number | null | undefined;
  inactivitySeconds?: number | null | undefined;
};

/** No `cursor`: this was the last page. */
export type ListSessionsAnswer = {
  sessions: (SessionWire)[];
  cursor?: string | null | undefined;
};

/** Newest first. Every word of `text` is in the title or a prompt; `all`: every workspace. */
export type ListSessionsParams = {
  text?: string | undefined;
  cursor?: string | null | undefined;
  limit?: number | undefined;
  all?: boolean | undefined;
};

/** `cursor` goes on after this page, also when `more` is false: then with what came since. `cutShort` and `leftOpen` come with the first page, if there is something. */
export type LoadSessionAnswer = {
  deltas: (AgentDelta)[];
  runs: (StoredRunWire)[];
  cutShort?: (CutShortWire)[] | null | undefined;
  leftOpen?: (LeftOpenWire)[] | null | undefined;
  cursor: string;
  more: boolean;
};

/** A page of past deltas, oldest first, from a cursor that an earlier page gave. */
export type LoadSessionParams = {
  sessionId: string;
  cursor?: string | null | undefined;
  limit?: number | undefined;
};

/** `source` names who speaks: a runtime's stderr, or `permissions` for a decision. */
export type LogDelta = {
  kind: "log";
  source: string;
  text: string;
};

/** An MCP server: idle until an agent needs it. `how` is its command line or address. `reason` and `remedy` say why one is failed, disabled or ignored; `notes` what of it can't be used; `tools` are the names that it gives, known once it has been ready. */
export type McpServerWire = {
  name: string;
  state: "idle" | "starting" | "ready" | "failed" | "stopped" | "disabled" | "ignored";
  how: string;
  where: string;
  tools: (string)[];
  reason?: string | null | undefined;
  remedy?: string | null | undefined;
  notes: (string)[];
  pid?: number | null | undefined;
  restarts: number;
};

/** `source` says where its key or URL comes from; `reason` why it can't be used. */
export type ModelWire = {
  name: string;
  provider: string;
  usable: boolean;
  source?: string | null | undefined;
  reason?: string | null | undefined;
};

export type ModelsAnswer = {
  models: (ModelWire)[];
};

/** `{}`, or no params at all. */
export type NoParams = Record<string, never>;

/** `size` bytes of `what` were left out. */
export type OmittedDelta = {
  kind: "omitted";
  what: string;
  size: number;
};

/** A changed file that a diff leaves out, and why. */
export type OmittedFileWire = {
  uri: string;
  reason: string;
};

export type OptionWire = {
  id: string;
  title: string;
  kind: "deny" | "allowOnce" | "allowSession" | "allowWorkspace" | "show" | "stop";
};

export type OriginWire = {
  kind: "user" | "agent" | "tool" | "system";
  role?: string | null | undefined;
  model?: string | null | undefined;
  path?: (string)[] | null | undefined;
};

export type PendingAnswer = {
  pending: (WaitingWire)[];
};

export type PendingParams = {
  sessionId: string;
};

export type PingAnswer = {
  pong?: true | undefined;
};

/** The whole plan; it replaces the one before. */
export type PlanDelta = {
  kind: "plan";
  entries: (PlanEntryWire)[];
};

export type PlanEntryWire = {
  text: string;
  status: "pending" | "inProgress" | "completed";
};

export type PositionWire = {
  line: number;
  character: number;
};

/** A prompt that is used as `/name arguments`; no `source`: the program's own. */
export type PromptFileWire = {
  name: string;
  description: string;
  argumentHint?: string | null | undefined;
  source?: string | null | undefined;
};

export type PromptsAnswer = {
  prompts: (PromptFileWire)[];
  problems: (GuidanceProblemWire)[];
};

/** A person is being asked; `detail` is Markdown. */
export type QuestionDelta = {
  kind: "question";
  callId: string;
  title: string;
  detail: string;
  options: (OptionWire)[];
};

/** Columns count code units of the negotiated position encoding. */
export type RangeWire = {
  start: PositionWire;
  end: PositionWire;
};

export type ReasoningDelta = {
  kind: "reasoning";
  text: string;
};

export type RenameSessionParams = {
  sessionId: string;
  title: string;
};

export type ResourcePartWire = {
  type: "resource";
  uri: string;
  range?: RangeWire | null | undefined;
};

/** The text and reasoning of this answer so far are void. */
export type RetryDelta = {
  kind: "retry";
  reason: string;
  waitSeconds: number;
};

/** `runId` is the revert's own: revert that to have the changes again. */
export type RevertAnswer = {
  runId: string;
  files: (RevertedFileWire)[];
};

/** `uris`: only these files of the run. */
export type RevertParams = {
  runId: string;
  sessionId?: string | null | undefined;
  uris?: (string)[] | null | undefined;
};

export type RevertedFileWire = {
  uri: string;
  status: "reverted" | "unchanged" | "skipped" | "failed";
  reason?: string | null | undefined;
};

/** What a role may do with an ordinary file or command, and the step or rule that says so. `overrides` are rules that say otherwise and do not win, `exceptions` those about some paths or commands only. */
export type RightWire = {
  action: string;
  verdict: "allow" | "ask" | "deny";
  source: string;
  reason: string;
  where?: string | null | undefined;
  overrides: (string)[];
  exceptions: (string)[];
};

/** `line` counts from 1. */
export type RoleProblemWire = {
  name: string;
  source: string;
  line: number;
  reason: string;
  severity: "error" | "warning";
};

export type RoleWire = {
  name: string;
  description: string;
  source: string;
  model?: string | null | undefined;
  runtime?: string | null | undefined;
  skills: (string)[];
  mayCall: (string)[];
  rights?: (RightWire)[] | null | undefined;
};

export type RolesAnswer = {
  roles: (RoleWire)[];
  problems: (RoleProblemWire)[];
};

/** `error` comes with status failed, `limit` with status limit, `reason` with refused. No `diff`: the run has changed nothing. */
export type RunAnswer = {
  sessionId: string;
  runId: string;
  status: "completed" | "stopped" | "failed" | "limit" | "refused";
  output: string;
  usage: UsageWire;
  edits: (FileEditWire)[];
  diff?: DiffWire | null | undefined;
  error?: FailureWire | null | undefined;
  limit?: "maxTurns" | "maxCostUsd" | "wallSeconds" | "inactivitySeconds" | "denials" | null | undefined;
  reason?: string | null | undefined;
};

/** One prompt. A `runId` that was seen before is that run: it is not started twice. `create`: a session of that `sessionId` begins if there is none. */
export type RunParams = {
  prompt: string | (TextPartWire | ImagePartWire | ResourcePartWire | string)[];
  sessionId?: string | null | undefined;
  create?: boolean | undefined;
  runId?: string | null | undefined;
  role?: string | null | undefined;
  model?: string | null | undefined;
  runtime?: string | null | undefined;
  cwd?: string | null | undefined;
  context?: (ContextItem)[] | null | undefined;
  limits?: LimitsWire | null | undefined;
  effort?: "none" | "low" | "medium" | "high" | "max" | null | undefined;
  outputSchema?: Record<string, unknown> | null | undefined;
  stream?: boolean | null | undefined;
  workDoneToken?: string | number | null | undefined;
};

export type SaveAnswer = {
  saved: (string)[];
};

export type SaveParams = {
  uris: (string)[];
};

/** The last delta of a run that the editor has. */
export type Seen = {
  runId: string;
  seq: number;
};

export type SessionParams = {
  sessionId: string;
};

export type SessionStatusWire = {
  sessionId: string;
  status: "idle" | "running" | "needsInput" | "stopping";
  runId?: string | null | undefined;
};

/** `status` is of the last run; `elsewhere`: another host that is alive owns it. */
export type SessionWire = {
  sessionId: string;
  title: string;
  role: string;
  model: string;
  runtime: string;
  created: number;
  updated: number;
  runs?: number | undefined;
  status?: "running" | "completed" | "stopped" | "failed" | "limit" | "refused" | "interrupted" | null | undefined;
  elsewhere?: boolean | undefined;
  parentSessionId?: string | null | undefined;
  parentRunId?: string | null | undefined;
};

/** What was left out and why, a sentence each, from whatever layer of the settings. */
export type SettingsAnswer = {
  problems: (string)[];
};

/** All of them, in place of initializationOptions; keys that are not told stay as they are. Never what a file of the workspace says: that is for workspace/configuration, and only narrows. */
export type SettingsParams = {
  settings?: Record<string, JsonValue> | undefined;
};

export type SkillWire = {
  name: string;
  description: string;
  source: string;
};

/** Always the first. */
export type StartedDelta = {
  kind: "started";
  role: string;
  model: string;
  runtime: string;
};

export type StatusAnswer = {
  version: string;
  sessions: (SessionStatusWire)[];
  actionServer: ActionServerWire;
  runtimes: (string)[];
  workspaces: (WorkspaceWire)[];
  mcpServers: (McpServerWire)[];
};

/** What became of it: `runId` is of the run that it started. */
export type SteerAnswer = {
  accepted: "steered" | "queued" | "started";
  id: string;
  runId?: string | null | undefined;
};

/** `when`: "now" is before the next call of the model, "next" as a run of its own. */
export type SteerParams = {
  sessionId: string;
  prompt: string | (TextPartWire | ImagePartWire | ResourcePartWire | string)[];
  when?: "now" | "next" | undefined;
};

/** The runs that are gone now. `handedBack`: what was said to them that no run has taken. */
export type StopAnswer = {
  stopped: (string)[];
  handedBack?: (WaitingWire)[] | null | undefined;
};

/** Neither: all runs. */
export type StopParams = {
  runId?: string | null | undefined;
  sessionId?: string | null | undefined;
};

/** A run that begins in the page; times in seconds since the epoch. */
export type StoredRunWire = {
  runId: string;
  prompt: string;
  status: "running" | "completed" | "stopped" | "failed" | "limit" | "refused" | "interrupted";
  started: number;
  ended?: number | null | undefined;
};

export type TextDelta = {
  kind: "text";
  text: string;
};

export type TextPartWire = {
  type: "text";
  text: string;
};

/** The model's wish; nothing was decided yet. */
export type ToolCallDelta = {
  kind: "toolCall";
  callId: string;
  name: string;
  arguments: Record<string, unknown>;
  title: string;
  risk: "low" | "medium" | "high";
};

export type ToolOutputDelta = {
  kind: "toolOutput";
  callId: string;
  stream: "stdout" | "stderr";
  text: string;
};

export type ToolResultDelta = {
  kind: "toolResult";
  callId: string;
  status: "ok" | "denied" | "failed" | "stopped";
  summary: string;
};

/** False: it is not waiting any more. */
export type UnsteerAnswer = {
  removed: boolean;
};

/** Takes back what waits. */
export type UnsteerParams = {
  sessionId: string;
  id: string;
};

/** The run's usage so far. */
export type UsageDelta = {
  kind: "usage";
  usage: UsageWire;
};

/** Tokens so far; input includes cached ones. No `costUsd`: the price is not known. `contextTokens` are in the model's context now, `contextWindow` is how many fit (if known). `estimated`: a part was stopped or lost before its vendor told what it took. */
export type UsageWire = {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  reasoningTokens: number;
  costUsd?: number | null | undefined;
  contextTokens?: number | null | undefined;
  contextWindow?: number | null | undefined;
  estimated?: boolean | null | undefined;
};

/** A prompt that waits for the run ("now") or for a run of its own ("next"). */
export type WaitingWire = {
  id: string;
  prompt: string;
  when: "now" | "next";
};

/** A folder of the workspace; `ignored` is what it brings that is not used until it is trusted: roles, rules, MCP servers, instructions, skills, prompts. */
export type WorkspaceWire = {
  path: string;
  trusted: boolean;
  ignored: (string)[];
};

/** Each method with its params and its result; null: a notification. */
export interface Methods {
  'agent/run': { params: RunParams; result: RunAnswer };
  'agent/stop': { params: StopParams; result: StopAnswer };
  'agent/steer': { params: SteerParams; result: SteerAnswer };
  'agent/steer/list': { params: PendingParams; result: PendingAnswer };
  'agent/steer/remove': { params: UnsteerParams; result: UnsteerAnswer };
  'agent/ping': { params: Anything; result: PingAnswer };
  'agent/status': { params: NoParams; result: StatusAnswer };
  'agent/roles': { params: NoParams; result: RolesAnswer };
  'agent/models': { params: NoParams; result: ModelsAnswer };
  'agent/guidance': { params: NoParams; result: GuidanceAnswer };
  'agent/prompts': { params: NoParams; result: PromptsAnswer };
  'agent/settings': { params: SettingsParams; result: SettingsAnswer };
  'agent/session/list': { params: ListSessionsParams; result: ListSessionsAnswer };
  'agent/session/load': { params: LoadSessionParams; result: LoadSessionAnswer };
  'agent/session/fork': { params: ForkSessionParams; result: ForkSessionAnswer };
  'agent/session/rename': { params: RenameSessionParams; result: DoneAnswer };
  'agent/session/delete': { params: SessionParams; result: DoneAnswer };
  'agent/session/compact': { params: CompactSessionParams; result: RunAnswer };
  'agent/session/revert': { params: RevertParams; result: RevertAnswer };
  'agent/session/attach': { params: AttachParams; result: AttachAnswer };
  'agent/session/detach': { params: SessionParams; result: DetachAnswer };
  'agent/session/detached': { params: DetachedParams; result: null };
  'agent/delta': { params: AgentDelta; result: null };
  'agent/ask': { params: AskParams; result: AskAnswer };
  'agent/save': { params: SaveParams; result: SaveAnswer };
  'agent/diagnostics': { params: DiagnosticsParams; result: DiagnosticsAnswer };
}

/** Who sends each method. */
export const SENDERS = {
  'agent/run': 'editor',
  'agent/stop': 'editor',
  'agent/steer': 'editor',
  'agent/steer/list': 'editor',
  'agent/steer/remove': 'editor',
  'agent/ping': 'editor',
  'agent/status': 'editor',
  'agent/roles': 'editor',
  'agent/models': 'editor',
  'agent/guidance': 'editor',
  'agent/prompts': 'editor',
  'agent/settings': 'editor',
  'agent/session/list': 'editor',
  'agent/session/load': 'editor',
  'agent/session/fork': 'editor',
  'agent/session/rename': 'editor',
  'agent/session/delete': 'editor',
  'agent/session/compact': 'editor',
  'agent/session/revert': 'editor',
  'agent/session/attach': 'editor',
  'agent/session/detach': 'editor',
  'agent/session/detached': 'host',
  'agent/delta': 'host',
  'agent/ask': 'host',
  'agent/save': 'host',
  'agent/diagnostics': 'host',
} as const satisfies Record<keyof Methods, 'editor' | 'host'>;
