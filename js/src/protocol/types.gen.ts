// Made from schema/protocol.json by `npm run gen`; do not edit.

/**
 * The kind of a step.
 */
export type StepKind = "into" | "out" | "over" | "to";
/**
 * The kind of an event.
 */
export type EventKind =
  "custom" | "debug_message" | "llm_query" | "program_finished" | "program_started" | "tool_invocation";
/**
 * The side of an event that a halt point stands on.
 */
export type EventSide = "begin" | "end";
/**
 * The effect of a breakpoint where the breakpoint hits.
 */
export type Reaction = "halt" | "log";
/**
 * The folder that a fork works on, where its recorded run had a workspace.
 */
export type WorkspaceMode = "fresh" | "in_place" | "none";
/**
 * A run's state, as views show it.
 */
export type RunState = "continue" | "detached" | "halted" | "idle" | "step";
/**
 * The current activity of an agent.
 */
export type AgentActivity =
  "finished" | "halted" | "halting" | "llm_thinking" | "running" | "tool_executing" | "waiting";
/**
 * A run's behaviour at its next halt point: halt (step) or go on (continue).
 */
export type RunMode = "continue" | "step";
/**
 * The way in which a run ended.
 */
export type RunEnding = "crashed" | "finished" | "lost" | "stopped";
/**
 * The kind of calls that pass a seam.
 */
export type SeamKind = "queries" | "tools";
/**
 * The method that found a tool.
 */
export type FoundBy = "adapter" | "discovery" | "hand" | "wire";
/**
 * The durability of stored records: docs/design/0008-store.md lists what survives each failure.
 */
export type Durability = "durable" | "relaxed" | "sync";
/**
 * A sender or receiver of data in the timeline.
 */
export type Actor = "agent" | "llm" | "system" | "tools";
/**
 * The kind of answer to a halt point.
 */
export type AnswerKind = "deny" | "raise" | "resume" | "skip" | "stop" | "withdrawn";
/**
 * The outcome of an event.
 */
export type EventOutcome = "error" | "ok" | "stopped";
/**
 * The relation of an event to the recording.
 */
export type ReplayRole = "diverged" | "entered" | "forked" | "live" | "served";
/**
 * The severity of a mark.
 */
export type MarkSeverity = "note" | "warning";
/**
 * The kind of change to a file between two commits.
 */
export type ChangeKind = "added" | "changed" | "deleted" | "renamed";
/**
 * The damage that a tool call can do.
 */
export type Risk = "high" | "low" | "medium";
/**
 * The kind of text in which a search found a hit.
 */
export type SearchHitPlace = "commit" | "note" | "row" | "run";
/**
 * The outcome of a run, as far as its record tells.
 */
export type RunOutcome = "crashed" | "finished" | "gave_up" | "lost" | "running" | "stopped";
/**
 * The phase of a search.
 */
export type BisectPhase = "asking" | "cancelled" | "failed" | "found" | "reading" | "running" | "undecided";

export interface Protocol {
  FromUi: FromUi;
  ToUi: ToUi;
}
export interface FromUi {
  hello: UiHello;
  open_run: OpenRun;
  close_run: CloseRun;
  read_run: ReadRun;
  list_runs: ListRuns;
  get_rows: GetRows;
  find_rows: FindRows;
  get_commits: GetCommits;
  get_message: GetMessage;
  get_change: GetChange;
  step: StepRun;
  continue: ContinueRun;
  raise: RaiseError;
  approve: ApproveCall;
  deny: DenyCall;
  skip: SkipCall;
  guide: GuidePrompt;
  halt: HaltRun;
  stop: StopRun;
  edit: SetEdit;
  set_stop: SetBreakpoint;
  delete_stop: DeleteBreakpoint;
  try_stop: DryRunBreakpoint;
  set_prices: SetPrices;
  set_edit_rule: SetEditRule;
  delete_edit_rule: DeleteEditRule;
  try_edit_rule: DryRunEditRule;
  export_edit_rule: ExportEditRule;
  rename_run: RenameRun;
  tag_run: TagRun;
  note: WriteNote;
  delete_run: DeleteRun;
  export_run: ExportRun;
  import_run: ImportRun;
  search: SearchRuns;
  get_store: GetStore;
  get_profile: GetProfile;
  get_model_info: GetModelInfo;
  get_overview: GetOverview;
  start_again: StartAgain;
  list_forks: ListForks;
  put_back: PutBack;
  get_stack: GetStack;
  get_variables: GetVariables;
  evaluate: EvaluateExpression;
  complete: CompleteExpression;
  enter_pdb: EnterPdb;
  get_sampling: GetSampling;
  sample_query: SampleQuery;
  start_bisect: StartBisect;
  get_bisect: GetBisect;
  answer_bisect: AnswerBisect;
  cancel_bisect: CancelBisect;
  export_test: ExportTest;
}
/**
 * Opens a connection; answered by the Core's hello.
 */
export interface UiHello {
  version: number;
  client: string;
}
/**
 * Answered by `RunOpened`, with its last rows; from then on the run's last rows are pushed.
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
 * Answered by `RunOpened` once, with all rows and commits; nothing is pushed for it.
 */
export interface ReadRun {
  run: string;
}
/**
 * Answered by `RunsListed`: the headers of the runs before one that is known.
 */
export interface ListRuns {
  before: string;
  limit?: number;
}
/**
 * Answered by `RowsPage`: of an opened run or another, nothing is pushed for it.
 */
export interface GetRows {
  run: string;
  first?: number;
  last?: number;
  around?: string | null;
}
/**
 * Answered by `RowsFound`: the rows that a timeline filtered by a text and by agents shows.
 */
export interface FindRows {
  run: string;
  text: string;
  /**
   * @maxItems 1000
   */
  lanes?: string[][];
}
/**
 * Answered by `CommitsPage`.
 */
export interface GetCommits {
  run: string;
  before?: number | null;
  limit?: number;
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
 * Answer the named halt point, or the oldest pending one; in CONTINUE: halt at the next.
 *
 *     With `halt_point` and `revision`, the command is refused as stale where they aren't current. A
 *     halt point that asks for an approval is never answered by it: named, or where nothing else is
 *     pending, the command is refused by `needs_approval`.
 */
export interface StepRun {
  run: string;
  breakpoint?: string | null;
  revision?: number | null;
  edit?: string | null;
  target?: StepTarget;
}
/**
 * The target at which a step halts.
 *
 *     A person gives `kind`, `freeze_others` and, of a step to a halt point, `event_kind`, `side`, `name`
 *     and `scope`. The Core sets all else by the halt point that the run goes on from.
 */
export interface StepTarget {
  kind: StepKind;
  /**
   * @maxItems 100
   */
  scope?: string[];
  freeze_others: boolean;
  event: string | null;
  depth: number | null;
  event_kind: EventKind | null;
  side: EventSide | null;
  name: string | null;
  point: string | null;
}
/**
 * Answer all pending halt points in order and go on without halting. Fields as in `StepRun`.
 *
 *     Those that ask for an approval still wait: nobody approves what they haven't seen.
 */
export interface ContinueRun {
  run: string;
  breakpoint?: string | null;
  revision?: number | null;
  edit?: string | null;
}
/**
 * Let the agent's code see an exception: in the call's place, or at its end in the result's.
 *
 *     The run's mode stays. A call that asks for an approval is answered by it, too: it isn't made.
 */
export interface RaiseError {
  run: string;
  breakpoint: string;
  revision: number;
  message: string;
  type?: string;
}
/**
 * Approve what a pending halt point asks; the run's mode stays.
 *
 *     Where that is of high risk, the command is refused by `needs_confirmation` unless `confirmed`.
 */
export interface ApproveCall {
  run: string;
  breakpoint: string;
  revision: number;
  edit?: string | null;
  always?: boolean;
  confirmed?: boolean;
}
/**
 * Don't let the call happen that a pending halt point begins; the run's mode stays.
 */
export interface DenyCall {
  run: string;
  breakpoint: string;
  revision: number;
  reason: string;
}
/**
 * Don't let the call happen that a pending halt point begins, and give its result.
 *
 *     The run's mode stays. A call that asks for an approval is answered by it, too: it isn't made.
 */
export interface SkipCall {
  run: string;
  breakpoint: string;
  revision: number;
  result: string;
}
/**
 * Add a message to the prompt of a pending LLM query, without answering.
 *
 *     It becomes part of the halt point's edit, in the prompt's own form, and is recorded as a guide.
 */
export interface GuidePrompt {
  run: string;
  breakpoint: string;
  revision: number;
  text: string;
  edit?: string | null;
}
/**
 * Halt at the next halt point.
 */
export interface HaltRun {
  run: string;
}
/**
 * Answer `stop` at the pending, or else at the next waiting halt point.
 */
export interface StopRun {
  run: string;
}
/**
 * Set a pending halt point's edit, or take it back (`edit` null), without answering.
 */
export interface SetEdit {
  run: string;
  breakpoint: string;
  revision: number;
  edit: string | null;
  sticky?: boolean;
}
/**
 * Set a breakpoint, in place of the one with its id; agents that run get it at once.
 */
export interface SetBreakpoint {
  stop: BreakpointRule;
}
/**
 * A rule for where to halt. All that is given has to hold; what is null holds everywhere.
 */
export interface BreakpointRule {
  id: string;
  program: string;
  kind: EventKind | null;
  side: EventSide | null;
  name: string | null;
  agent?: string;
  on_error: boolean;
  condition: string | null;
  watch: (TokenBudget | CostBudget | Repeated | Touched) | null;
  nth: number;
  once: boolean;
  then: Reaction;
  enabled: boolean;
}
/**
 * Matches at the first halt point at which the run has used more tokens, in and out, than this.
 */
export interface TokenBudget {
  kind: "tokens";
  limit: number;
}
/**
 * Matches at the first halt point at which the run has cost more than this.
 */
export interface CostBudget {
  kind: "cost";
  limit: number;
}
/**
 * Matches where an event begins just as others of its kind did before, so many times.
 */
export interface Repeated {
  kind: "repeated";
  times: number;
  in_a_row: boolean;
}
/**
 * Matches at the first halt point after a file of the workspace was changed whose path is such.
 */
export interface Touched {
  kind: "touched";
  path: string;
}
/**
 * Delete a breakpoint.
 */
export interface DeleteBreakpoint {
  stop: string;
}
/**
 * Answered by `DryRunAnswer`: where a breakpoint, set or not, would have hit.
 */
export interface DryRunBreakpoint {
  stop: BreakpointRule;
  run?: string | null;
}
/**
 * Set what models cost: all prices. The first whose pattern fits a model is its price.
 */
export interface SetPrices {
  /**
   * @maxItems 200
   */
  prices: Price[];
}
/**
 * A model's price as a person set it, to estimate costs that the agent doesn't report.
 */
export interface Price {
  model: string;
  input: number;
  output: number;
  context_window?: number;
}
/**
 * Set an edit rule, in place of the one with its id; agents that run get it at once.
 */
export interface SetEditRule {
  rule: EditRuleDefinition;
}
/**
 * An edit that is made wherever all patterns match; what is null matches everywhere.
 *
 *     Where the data has nothing at `path`, and where nothing would change, the rule doesn't match.
 */
export interface EditRuleDefinition {
  id: string;
  kind: EventKind;
  side: EventSide;
  path: string;
  change: SetValue | ReplaceText;
  program: string;
  agent: string | null;
  name: string | null;
  once: boolean;
  enabled: boolean;
}
/**
 * Put a value in the place of the one that stands there.
 */
export interface SetValue {
  kind: "set";
  value: string;
}
/**
 * Replace what a pattern matches, in the text that stands there, or in all texts below it.
 */
export interface ReplaceText {
  kind: "replace";
  pattern: string;
  replacement: string;
}
/**
 * Delete an edit rule.
 */
export interface DeleteEditRule {
  rule: string;
}
/**
 * Answered by `EditRuleDryRun`: what an edit rule, set or not, would have edited.
 */
export interface DryRunEditRule {
  rule: EditRuleDefinition;
  run?: string | null;
}
/**
 * Answered by `EditRuleExported`: the edit rule as Python.
 */
export interface ExportEditRule {
  rule: EditRuleDefinition;
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
 * Look for words in all that is kept of all runs; answered by `SearchResults`.
 */
export interface SearchRuns {
  query: string;
  run?: string | null;
  limit?: number;
}
/**
 * Answered by `StoreChanged`.
 */
export interface GetStore {}
/**
 * Answered by `RunProfile`.
 */
export interface GetProfile {
  run: string;
}
/**
 * Answered by `ModelInfoList`.
 */
export interface GetModelInfo {
  /**
   * @maxItems 200
   */
  models: string[];
}
/**
 * Answered by `RunOverview`.
 */
export interface GetOverview {
  run: string;
}
/**
 * Start a run again; answered by `RunStartedAgain`, or refused by `cannot_start_again`.
 */
export interface StartAgain {
  run: string;
  row?: number;
  is_replay?: boolean;
  workspace?: WorkspaceMode;
}
/**
 * Answered by `ForkTree`.
 */
export interface ListForks {
  run: string;
}
/**
 * Make a workspace what it was before a fork restored files in it.
 *
 *     Answered by `FilesPutBack`, or refused by `cannot_put_back`.
 */
export interface PutBack {
  run: string;
  restore?: string;
}
/**
 * Answered by `StackSnapshot`; as all of these refused by `inspection_refused`.
 */
export interface GetStack {
  run: string;
  breakpoint: string;
}
/**
 * Answered by `VariablesPage`. Fields as in `VariablesRequest`.
 */
export interface GetVariables {
  run: string;
  breakpoint: string;
  frame: number;
  result?: number;
  /**
   * @maxItems 100
   */
  path?: number[];
  start?: number;
  count?: number;
}
/**
 * Answered by `Evaluation`. It runs in the agent's process, beside the thread that waits.
 */
export interface EvaluateExpression {
  run: string;
  breakpoint: string;
  frame: number;
  expression: string;
}
/**
 * Answered by `CompletionList`.
 */
export interface CompleteExpression {
  run: string;
  breakpoint: string;
  frame: number;
  text: string;
  cursor: number;
}
/**
 * Answer the halt point as a step does, and let the agent enter pdb; answered by `PdbReady`.
 */
export interface EnterPdb {
  run: string;
  breakpoint: string;
  revision: number;
}
/**
 * Answered by `SamplingOffer`; as `SampleQuery` refused by `resample_refused`.
 */
export interface GetSampling {
  run: string;
  breakpoint: string;
}
/**
 * Answered by `SampledAnswer`, whenever the model has answered. It costs what a query costs.
 */
export interface SampleQuery {
  run: string;
  breakpoint: string;
}
/**
 * Look for the event of a good run that decides; refused by `cannot_bisect`.
 *
 *     Answered by `BisectState`, as the next three. Nothing is executed before the person has agreed to the
 *     LLM queries that it may make.
 */
export interface StartBisect {
  run: string;
  bad: string | null;
  check: string;
  repeat: number;
}
/**
 * Tell of a run's search, once that is another state than the one that the view has.
 */
export interface GetBisect {
  run: string;
  seen?: number;
}
/**
 * The person answers the question of a search.
 */
export interface AnswerBisect {
  run: string;
  goes_on: boolean;
}
/**
 * End a search, and what it executes.
 */
export interface CancelBisect {
  run: string;
}
/**
 * Write a run as a test of pytest into its command's folder; refused by `cannot_export_test`.
 */
export interface ExportTest {
  run: string;
  agent: string;
  /**
   * @maxItems 100
   */
  args: string[];
  file: string;
  replaces?: boolean;
}
export interface ToUi {
  hello: CoreHello;
  stop: BreakpointChanged;
  stop_gone: BreakpointGone;
  prices: PricesChanged;
  stop_tried: DryRunAnswer;
  edit_rule: EditRuleChanged;
  edit_rule_gone: EditRuleGone;
  edit_rule_tried: EditRuleDryRun;
  edit_rule_exported: EditRuleExported;
  runs: RunsListed;
  rows: RowsPage;
  rows_found: RowsFound;
  commits: CommitsPage;
  run: RunChanged;
  run_gone: RunRemoved;
  row: RowChanged;
  commit: CommitAdded;
  note: NoteChanged;
  commit_changed: CommitChanged;
  store: StoreChanged;
  ok: CommandDone;
  run_opened: RunOpened;
  message: MessageBody;
  change: ChangeBody;
  run_exported: RunExported;
  run_imported: RunImported;
  found: SearchResults;
  profile: RunProfile;
  model_info: ModelInfoList;
  overview: RunOverview;
  started_again: RunStartedAgain;
  forks: ForkTree;
  files_put_back: FilesPutBack;
  error: UiError;
  stack: StackSnapshot;
  variables: VariablesPage;
  evaluated: Evaluation;
  completions: CompletionList;
  pdb_ready: PdbReady;
  sampling: SamplingOffer;
  sampled: SampledAnswer;
  bisect: BisectState;
  test_exported: ExportedTest;
}
/**
 * Answers hello with a snapshot.
 */
export interface CoreHello {
  version: number;
  core: string;
  control: boolean;
  runs: Run[];
  more: number;
  store: StoreInfo;
  stops: BreakpointRule[];
  prices: Price[];
  edit_rules?: EditRuleDefinition[];
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
  agent_state: AgentActivity;
  mode: RunMode;
  pending: string[];
  ending: RunEnding | null;
  failure: Failure | null;
  can_stop: boolean;
  can_stick_edits?: boolean;
  stopping: boolean;
  rows: number;
  commits: number;
  workspace: string | null;
  pid: number | null;
  host: string | null;
  tags: string[];
  usage: Usage | null;
  samples?: SampleTotals;
  query_bytes: number;
  halted_at: number | null;
  halted_s: number | null;
  detached_at: number | null;
  exit_code: number | null;
  last_event: string | null;
  hits: BreakpointHits[];
  notice: string;
  seams?: RunSeams;
  effects?: EffectCounts;
  checks?: CheckRun[];
  step?: StepTarget;
  forked_from?: ForkOrigin;
}
/**
 * An exception, as far as it travels.
 */
export interface Failure {
  type: string;
  message: string;
}
/**
 * The tokens and the cost of a query.
 */
export interface Usage {
  input_tokens: number | null;
  output_tokens: number | null;
  cost: number | null;
  estimated: boolean;
}
/**
 * The number and usage of a run's resampled queries; `Run.usage` includes this usage.
 */
export interface SampleTotals {
  count: number;
  usage: Usage | null;
}
/**
 * The number of a breakpoint's hits in a run, and the row of the last hit.
 */
export interface BreakpointHits {
  stop: string;
  count: number;
  last: number;
}
/**
 * The seams of a run's process, and the run's tools so far.
 */
export interface RunSeams {
  seams: Seam[];
  tools: FoundTool[];
  discovery_off_reason: string;
}
/**
 * A library whose calls can halt.
 */
export interface Seam {
  library: string;
  kind: SeamKind;
  version: string;
  is_active: boolean;
  reason: string;
  has_failed: boolean;
}
/**
 * A tool of a run; one that several methods found stands there once for each.
 */
export interface FoundTool {
  name: string;
  found_by: FoundBy;
}
/**
 * The marked rows of a run.
 */
export interface EffectCounts {
  rows: number;
  warnings: number;
  first: number;
}
/**
 * A command that a person ran on a run's workspace to see how the run came out.
 */
export interface CheckRun {
  command: string;
  exit_code: number;
  at: number;
  line: string;
  rows: number;
}
/**
 * The run that another was started again from: a fork, or without a row a strict replay.
 */
export interface ForkOrigin {
  run: string;
  row?: number;
  is_live: boolean;
}
/**
 * The store of a Core's runs.
 */
export interface StoreInfo {
  kind: string;
  durability: Durability | null;
  folder: string | null;
  size: number | null;
  trouble: string | null;
}
/**
 * A breakpoint is new or changed: it replaces the one of the same id.
 */
export interface BreakpointChanged {
  stop: BreakpointRule;
}
/**
 * A breakpoint was deleted.
 */
export interface BreakpointGone {
  stop: string;
}
/**
 * A person set the prices of models.
 */
export interface PricesChanged {
  prices: Price[];
}
/**
 * Answers `DryRunBreakpoint`.
 */
export interface DryRunAnswer {
  trials: DryRunOutcome[];
}
/**
 * The rows of a recorded run at which a breakpoint would have hit.
 */
export interface DryRunOutcome {
  run: string;
  rows: number;
  hits: number[];
  total: number;
  error: string | null;
}
/**
 * An edit rule is new or changed: it replaces the one of the same id.
 */
export interface EditRuleChanged {
  rule: EditRuleDefinition;
}
/**
 * An edit rule was deleted.
 */
export interface EditRuleGone {
  rule: string;
}
/**
 * Answers `DryRunEditRule`.
 */
export interface EditRuleDryRun {
  outcomes: EditRuleOutcome[];
}
/**
 * The edits that an edit rule would have made in a recorded run.
 */
export interface EditRuleOutcome {
  run: string;
  rows: number;
  edits: RuleEdit[];
  total: number;
  error: string | null;
}
/**
 * The change that an edit rule would have made at one row.
 */
export interface RuleEdit {
  seq: number;
  before?: string;
  after?: string;
}
/**
 * Answers `ExportEditRule`: a Python function that makes the same edit.
 */
export interface EditRuleExported {
  code: string;
}
/**
 * Answers `ListRuns`.
 */
export interface RunsListed {
  runs: Run[];
  more: number;
}
/**
 * Answers `GetRows`.
 */
export interface RowsPage {
  run: string;
  rows: TimelineRow[];
  commits: Commit[];
}
/**
 * One line of the timeline: a halt point or a debug message, without its contents.
 */
export interface TimelineRow {
  id: string;
  seq: number;
  event: string;
  kind: EventKind;
  side: EventSide | null;
  source: Actor;
  target: Actor;
  summary: string;
  at: number;
  size: number;
  name: string | null;
  depth: number;
  /**
   * @maxItems 100
   */
  scope?: string[];
  label?: AgentLabel;
  location?: SourceLocation;
  pending: boolean;
  revision: number;
  edited: boolean;
  answer: AnswerKind | null;
  outcome: EventOutcome | null;
  failure: Failure | null;
  usage: Usage | null;
  duration: number | null;
  stops: string[];
  stop_error: string | null;
  approval: boolean;
  replay?: ReplayMark;
  reason: string | null;
  effects?: EffectReport;
  said?: string;
  guided?: boolean;
  edit_rules?: string[];
}
/**
 * The agent of a program that an event belongs to.
 */
export interface AgentLabel {
  name: string;
  node: string | null;
  parent: string | null;
}
/**
 * A line of the agent's code.
 */
export interface SourceLocation {
  file: string;
  line: number;
  function: string;
  cell?: number;
}
/**
 * The mark of an event of a replay or a fork.
 */
export interface ReplayMark {
  role: ReplayRole;
  event?: string;
  note: string;
  halts: boolean;
}
/**
 * The marks and the repetition of one tool's end.
 */
export interface EffectReport {
  marks: EffectMark[];
  repetition?: Repetition;
}
/**
 * A mark that one check set on a tool's end.
 */
export interface EffectMark {
  check: string;
  message: string;
  severity: MarkSeverity;
}
/**
 * A call that was made before in the same run, with the same result.
 */
export interface Repetition {
  count: number;
  first: number;
  last: number;
  is_unchanged: boolean;
  cycle?: number;
}
/**
 * A snapshot or commit of an agent's workspace, with the files that changed.
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
 * Answers `FindRows`.
 */
export interface RowsFound {
  run: string;
  seqs: number[];
  total: number;
  lanes?: Lane[];
}
/**
 * An agent of a run, where its events begin.
 */
export interface Lane {
  /**
   * @minItems 1
   * @maxItems 100
   */
  path: string[];
  seq: number;
  label: AgentLabel | null;
}
/**
 * Answers `GetCommits`.
 */
export interface CommitsPage {
  run: string;
  commits: Commit[];
  before: number | null;
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
export interface RunRemoved {
  run: string;
}
/**
 * A row of an opened run is new or changed: it replaces the one of the same id.
 */
export interface RowChanged {
  run: string;
  row: TimelineRow;
}
/**
 * A commit of an opened run; its changes without contents.
 */
export interface CommitAdded {
  run: string;
  commit: Commit;
}
/**
 * A note of an opened run is new, changed, or gone.
 */
export interface NoteChanged {
  note: RowNote;
}
/**
 * A person's note on a row.
 */
export interface RowNote {
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
 * The store's state; pushed when the store can't write, and when it can write again.
 */
export interface StoreChanged {
  store: StoreInfo;
}
/**
 * The command was carried out.
 */
export interface CommandDone {}
/**
 * Answers `OpenRun`.
 */
export interface RunOpened {
  run: Run;
  rows: TimelineRow[];
  commits: Commit[];
  notes: RowNote[];
}
/**
 * Answers `GetMessage`.
 */
export interface MessageBody {
  run: string;
  message: string;
  revision: number;
  data: string;
  pieces: EncodedContent | null;
  edit: string | null;
  sticky?: boolean;
  strict: boolean;
  approval: ApprovalPrompt | null;
  reason: string | null;
  always: boolean;
  traceback: string;
  supplied?: string;
  raised?: Failure;
  guides?: string[];
  edit_rules?: string[];
  schema?: string;
}
/**
 * A text in pieces: joined they are the text as it was.
 */
export interface EncodedContent {
  number: number;
  like: number;
  keep: number;
  then: (number | string)[];
}
/**
 * A request for a person's approval of a tool call: its halt point waits in every mode.
 */
export interface ApprovalPrompt {
  risk: Risk;
  why: string;
  rule: string | null;
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
 * Answers `SearchRuns`.
 */
export interface SearchResults {
  hits: SearchHit[];
  more: boolean;
}
/**
 * A text that contains all words of a search.
 */
export interface SearchHit {
  run: string;
  place: SearchHitPlace;
  id: string | null;
  snippet: string[];
}
/**
 * Answers `GetProfile`.
 */
export interface RunProfile {
  run: string;
  events: ProfiledEvent[];
  first_row: number;
}
/**
 * The time and the usage of an event.
 */
export interface ProfiledEvent {
  seq: number;
  kind: EventKind;
  name: string | null;
  /**
   * @maxItems 100
   */
  scope: string[];
  label: AgentLabel | null;
  started_at: number;
  duration_s: number | null;
  outcome: EventOutcome | null;
  usage: Usage | null;
  prompt: PromptSizes | null;
}
/**
 * The sizes of a prompt's parts, in bytes of JSON.
 */
export interface PromptSizes {
  system: number;
  tools: number;
  history: number;
  new: number;
}
/**
 * Answers `GetModelInfo`.
 */
export interface ModelInfoList {
  source: string | null;
  models: ModelPricing[];
}
/**
 * A model's prices and context window; None: unknown.
 */
export interface ModelPricing {
  model: string;
  input: number | null;
  output: number | null;
  context_window: number | null;
}
/**
 * Answers `GetOverview`.
 */
export interface RunOverview {
  run: string;
  rows: number;
  outcome: RunOutcome;
  reason: string;
  said: string;
  said_row: number | null;
  contradictions: Contradiction[];
  tools: ToolUse[];
  queries: number;
  query_seconds: number;
  files: FileUse[];
  more_files: number;
  repeated: RepeatedCall[];
  errors: RunErrorGroup[];
  marked: MarkedRow[];
  checks: EffectCheckInfo[];
  check_runs: CheckRun[];
}
/**
 * A fact of the record that contradicts a run's ending or the agent's last message.
 */
export interface Contradiction {
  text: string;
  row: number | null;
}
/**
 * The calls of one tool.
 */
export interface ToolUse {
  name: string;
  calls: number;
  failures: number;
  marked: number;
  seconds: number;
  first: number;
  last: number;
}
/**
 * A file that a run read or changed.
 */
export interface FileUse {
  path: string;
  reads: number;
  changes: number;
  added: number;
  removed: number;
  kind: ChangeKind | null;
  first: number;
  last: number;
  commit: string | null;
}
/**
 * A call that came again with the same result, or a cycle of calls.
 */
export interface RepeatedCall {
  tool: string;
  summary: string;
  row: number;
  repetition: Repetition;
}
/**
 * Errors that say the same but for numbers, paths and quoted names.
 */
export interface RunErrorGroup {
  text: string;
  source: string;
  count: number;
  first: number;
  last: number;
}
/**
 * A tool's end that effect checks mark.
 */
export interface MarkedRow {
  row: number;
  tool: string;
  marks: EffectMark[];
}
/**
 * An effect check of the Core, and whether the check is enabled.
 */
export interface EffectCheckInfo {
  name: string;
  title: string;
  enabled: boolean;
}
/**
 * Answers `StartAgain`.
 */
export interface RunStartedAgain {
  run?: string;
  cell?: string;
}
/**
 * Answers `ListForks`: the runs of the tree that a run belongs to.
 */
export interface ForkTree {
  nodes: ForkNode[];
  more: number;
  restored: RestoredFolder[];
}
/**
 * One run of the tree. Its header names its parent, the row and the cost.
 */
export interface ForkNode {
  run: Run;
  point: string;
  edit: string;
  outcome: RunOutcome;
  reason: string;
  changed_files: number;
}
/**
 * A workspace in which a fork restored files in place, and that wasn't put back since.
 */
export interface RestoredFolder {
  folder: string;
  restore: string;
  run: string;
  recorded_run: string;
  row: number;
  is_done: boolean;
}
/**
 * Answers `PutBack`.
 */
export interface FilesPutBack {
  report: string;
}
/**
 * A command was refused; the frame's id says which.
 */
export interface UiError {
  code: string;
  message: string;
  run: string | null;
}
/**
 * The Python stack of what waits at a halt point.
 */
export interface StackSnapshot {
  kind: "stack";
  frames: StackFrame[];
  thread: string;
  is_task: boolean;
  omitted: number;
  pdb_refusal: string | null;
}
/**
 * One frame of a thread or task that waits.
 */
export interface StackFrame {
  location: SourceLocation;
  is_own: boolean;
  source?: SourceLines;
}
/**
 * The lines of a file around one of them.
 */
export interface SourceLines {
  first: number;
  lines: string[];
}
/**
 * Children, from `start` on.
 */
export interface VariablesPage {
  kind: "variables";
  variables: Variable[];
  start: number;
  total: number;
}
/**
 * A name, an item or an attribute, and its value in short.
 */
export interface Variable {
  name: string;
  value: string;
  type: string;
  children: number;
  masked: boolean;
}
/**
 * The result of an evaluated expression.
 */
export interface Evaluation {
  kind: "evaluation";
  value: Variable | null;
  result?: number;
  error: string | null;
  output: string;
}
/**
 * Completions for a part of an expression.
 */
export interface CompletionList {
  kind: "completions";
  start: number;
  end: number;
  matches: string[];
}
/**
 * The agent enters pdb at its own next line, once the halt point is answered.
 */
export interface PdbReady {
  kind: "pdb_ready";
  where: string;
}
/**
 * The query can be asked again.
 */
export interface SamplingOffer {
  left: number;
}
/**
 * An answer of a query that was asked again.
 */
export interface SampledAnswer {
  data: string;
  action: string;
  summary: string;
  left: number;
  usage: Usage | null;
  failure: Failure | null;
}
/**
 * A run's search: the one that goes on, or else the last.
 */
export interface BisectState {
  run: string;
  revision: number;
  phase: BisectPhase | null;
  bad: string | null;
  check: string;
  repeat: number;
  question: string;
  queries: number;
  probes: BisectProbe[];
  execution: string | null;
  is_cancelling: boolean;
  message: string;
  row: number | null;
}
/**
 * Executions of an agent that are served up to the same outcome.
 */
export interface BisectProbe {
  row: number;
  votes: boolean[];
  runs: string[];
  queries: number;
}
/**
 * Answers `ExportTest`.
 */
export interface ExportedTest {
  path: string;
}
