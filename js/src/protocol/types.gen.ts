// Made from schema/protocol.json by `npm run gen`; do not edit.

/**
 * The state a person is shown.
 */
export type RunState = "continue" | "detached" | "halted" | "idle" | "step";
/**
 * What the agent is doing.
 */
export type AgentState = "finished" | "halted" | "halting" | "llm_thinking" | "running" | "tool_executing";
/**
 * What a run does at its next breakpoint: halt (step) or go on (continue).
 */
export type Mode = "continue" | "step";
/**
 * How a run ended.
 */
export type Ending = "crashed" | "finished" | "lost" | "stopped";
/**
 * When what is kept outlives what: docs/design/0008-store.md has the table.
 */
export type Durability = "durable" | "relaxed" | "sync";
/**
 * What an event is.
 */
export type EventKind =
  "custom" | "debug_message" | "llm_query" | "program_finished" | "program_started" | "tool_invocation";
/**
 * Which side of its event a breakpoint stands on.
 */
export type Side = "begin" | "end";
/**
 * Who speaks or listens in the timeline.
 */
export type Actor = "agent" | "llm" | "system" | "tools";
/**
 * How a breakpoint was answered.
 */
export type AnswerKind = "deny" | "raise" | "resume" | "skip" | "stop" | "withdrawn";
/**
 * How an event ended.
 */
export type Outcome = "error" | "ok" | "stopped";
/**
 * What happened to a file between two commits.
 */
export type ChangeKind = "added" | "changed" | "deleted" | "renamed";
/**
 * Where a search found something.
 */
export type Place = "commit" | "note" | "row" | "run";

export interface Protocol {
  FromUi: FromUi;
  ToUi: ToUi;
}
export interface FromUi {
  hello: UiHello;
  open_run: OpenRun;
  close_run: CloseRun;
  read_run: ReadRun;
  get_message: GetMessage;
  get_change: GetChange;
  step: Step;
  continue: Continue;
  halt: Halt;
  stop: StopRun;
  edit: Edit;
  rename_run: RenameRun;
  tag_run: TagRun;
  note: WriteNote;
  delete_run: DeleteRun;
  export_run: ExportRun;
  import_run: ImportRun;
  search: Search;
  get_store: GetStore;
}
/**
 * Opens a connection; answered by the Core's hello.
 */
export interface UiHello {
  version: number;
  client: string;
}
/**
 * Answered by `RunOpened`; from then on the run's rows and commits are pushed.
 */
export interface OpenRun {
  run: string;
}
/**
 * Ends what `OpenRun` began.
 */
export interface CloseRun {
  run: string;
}
/**
 * Answered by `RunOpened` once; nothing is pushed for it.
 */
export interface ReadRun {
  run: string;
}
/**
 * Answered by `MessageBody`.
 */
export interface GetMessage {
  run: string;
  message: string;
}
/**
 * Answered by `ChangeBody`.
 */
export interface GetChange {
  run: string;
  commit: string;
  path: string;
}
/**
 * Answer the named breakpoint, or the oldest pending one; in CONTINUE: halt at the next.
 *
 *     With `breakpoint` and `revision`, the command is refused as stale where they aren't current.
 */
export interface Step {
  run: string;
  breakpoint?: string | null;
  revision?: number | null;
  edit?: string | null;
}
/**
 * Answer all pending breakpoints in order and go on without halting. Fields as in `Step`.
 */
export interface Continue {
  run: string;
  breakpoint?: string | null;
  revision?: number | null;
  edit?: string | null;
}
/**
 * Halt at the next breakpoint.
 */
export interface Halt {
  run: string;
}
/**
 * Answer `stop` at the pending, or else at the next waiting breakpoint.
 */
export interface StopRun {
  run: string;
}
/**
 * Set a pending breakpoint's edit, or take it back (`edit` null), without answering.
 */
export interface Edit {
  run: string;
  breakpoint: string;
  revision: number;
  edit: string | null;
}
/**
 * Give a run another name.
 */
export interface RenameRun {
  run: string;
  name: string;
}
/**
 * Give a run these tags, in place of those it has.
 */
export interface TagRun {
  run: string;
  /**
   * @maxItems 20
   */
  tags: string[];
}
/**
 * Write beside a row, in place of what stands there; "" takes it away.
 */
export interface WriteNote {
  run: string;
  message: string;
  text: string;
}
/**
 * Delete a run that has ended.
 */
export interface DeleteRun {
  run: string;
}
/**
 * Answered by `RunExported`.
 */
export interface ExportRun {
  run: string;
  format?: "archive" | "run";
}
/**
 * Take a run in from a file; answered by `RunImported`.
 */
export interface ImportRun {
  data: string;
}
/**
 * Look for words in all that is kept of all runs; answered by `Found`.
 */
export interface Search {
  query: string;
  run?: string | null;
  limit?: number;
}
/**
 * Answered by `StoreChanged`.
 */
export interface GetStore {}
export interface ToUi {
  hello: CoreHello;
  run: RunChanged;
  run_gone: RunGone;
  row: RowChanged;
  commit: CommitAdded;
  note: NoteChanged;
  commit_changed: CommitChanged;
  store: StoreChanged;
  ok: Done;
  run_opened: RunOpened;
  message: MessageBody;
  change: ChangeBody;
  run_exported: RunExported;
  run_imported: RunImported;
  found: Found;
  error: UiError;
}
/**
 * Answers hello with a snapshot.
 */
export interface CoreHello {
  version: number;
  core: string;
  control: boolean;
  runs: Run[];
  store: StoreInfo;
}
/**
 * The header of one execution of an agent program.
 */
export interface Run {
  id: string;
  name: string;
  program: string;
  started_at: number;
  ended_at: number | null;
  state: RunState;
  agent_state: AgentState;
  mode: Mode;
  pending: string[];
  ending: Ending | null;
  failure: Failure | null;
  can_stop: boolean;
  stopping: boolean;
  rows: number;
  commits: number;
  workspace: string | null;
  pid: number | null;
  host: string | null;
  tags: string[];
  usage: Usage | null;
  detached_at: number | null;
  exit_code: number | null;
  last_event: string | null;
}
/**
 * An exception, as far as it travels.
 */
export interface Failure {
  type: string;
  message: string;
}
/**
 * What a query cost, in tokens.
 */
export interface Usage {
  input_tokens: number | null;
  output_tokens: number | null;
}
/**
 * How a Core keeps its runs.
 */
export interface StoreInfo {
  kind: string;
  durability: Durability | null;
  folder: string | null;
  size: number | null;
  trouble: string | null;
}
/**
 * A run is new or its header changed: it replaces the one before.
 */
export interface RunChanged {
  run: Run;
}
/**
 * A run was deleted.
 */
export interface RunGone {
  run: string;
}
/**
 * A row of an opened run is new or changed: it replaces the one of the same id.
 */
export interface RowChanged {
  run: string;
  row: Row;
}
/**
 * One line of the timeline: a breakpoint or a debug message, without its contents.
 */
export interface Row {
  id: string;
  seq: number;
  event: string;
  kind: EventKind;
  side: Side | null;
  source: Actor;
  target: Actor;
  summary: string;
  at: number;
  size: number;
  name: string | null;
  depth: number;
  pending: boolean;
  revision: number;
  edited: boolean;
  answer: AnswerKind | null;
  outcome: Outcome | null;
  failure: Failure | null;
  usage: Usage | null;
  duration: number | null;
}
/**
 * A commit of an opened run; its changes without contents.
 */
export interface CommitAdded {
  run: string;
  commit: Commit;
}
/**
 * What an agent changed in its workspace up to one moment.
 */
export interface Commit {
  id: string;
  run: string;
  at: number;
  title: string;
  description: string;
  event: string | null;
  seq: number;
  snapshot: boolean;
  ruled: boolean;
  sentence: string | null;
  changes: FileChange[];
}
/**
 * One file of a commit.
 */
export interface FileChange {
  path: string;
  kind: ChangeKind;
  previous_path: string | null;
  added: number;
  removed: number;
  binary: boolean;
  size: number | null;
  digest: string | null;
  body: FileBody | null;
}
/**
 * The contents of a changed text file.
 */
export interface FileBody {
  diff: string;
  content: string;
  previous_content: string;
}
/**
 * A note of an opened run is new, changed, or gone.
 */
export interface NoteChanged {
  note: Note;
}
/**
 * What a person wrote beside a row.
 */
export interface Note {
  run: string;
  message: string;
  text: string;
  at: number;
}
/**
 * A commit of an opened run was put into a sentence: it replaces the one of the same id.
 */
export interface CommitChanged {
  run: string;
  commit: Commit;
}
/**
 * How runs are kept; pushed where nothing can be kept, and where it can again.
 */
export interface StoreChanged {
  store: StoreInfo;
}
/**
 * The command was carried out.
 */
export interface Done {}
/**
 * Answers `OpenRun`.
 */
export interface RunOpened {
  run: Run;
  rows: Row[];
  commits: Commit[];
  notes: Note[];
}
/**
 * Answers `GetMessage`.
 */
export interface MessageBody {
  run: string;
  message: string;
  revision: number;
  data: string;
  edit: string | null;
  strict: boolean;
}
/**
 * Answers `GetChange`.
 */
export interface ChangeBody {
  run: string;
  commit: string;
  path: string;
  body: FileBody | null;
}
/**
 * Answers `ExportRun`.
 */
export interface RunExported {
  name: string;
  data: string;
  format: "archive" | "run";
}
/**
 * Answers `ImportRun`.
 */
export interface RunImported {
  run: Run;
}
/**
 * Answers `Search`.
 */
export interface Found {
  hits: Hit[];
  more: boolean;
}
/**
 * One place where the words of a search stand together.
 */
export interface Hit {
  run: string;
  place: Place;
  id: string | null;
  snippet: string[];
}
/**
 * A command was refused; the frame's id says which.
 */
export interface UiError {
  code: string;
  message: string;
  run: string | null;
}
