/** The model as it stands on a client: mirrors the Core, and keeps what only this person's view needs. */
import { batch, computed, type Signal, signal } from "@preact/signals";
import { Client, CommandError, type Listener } from "../client/core_client";
import { browserTimers, type Timers, type Transport } from "../client/transport";
import type { PushName } from "../protocol/messages";
import type { CoreHello, RunOpened, StoreInfo, ToUi, WriteNote } from "../protocol/types.gen";
import { Breakpoints, isBreakpointPush } from "./breakpoints";
import { Commands } from "./commands";
import { filesOfEvents, groupCommits } from "./commits";
import { type ContentPush, Contents, Reader, runOf } from "./contents";
import { controls } from "./controls";
import type { HistoryOptions } from "./history";
import { Inbox, nextFrame, type Schedule } from "./inbox";
import { CoreInspection, type Inspection } from "./inspection";
import { laneKey, MAIN_LANE } from "./lanes";
import type { ApprovalOptions, Comparison, Draft, Model, Problem, Run, TimelineRow } from "./model";
import { Notes } from "./notes";
import { contextWindow } from "./prices";
import { RunList } from "./run_list";
import type { StepGoal } from "./steps";
import { browserStorage, Drafts, type KeyValueStorage } from "./storage";
import { ViewState } from "./view_state";

export interface DebuggerOptions {
  transport: Transport;
  /** The run to show; "" shows the newest, and newer ones as they begin. */
  run: string;
  /** Whether to go on to a run that begins once this one has ended, until the person picks one. */
  followsNewRuns?: boolean;
  /** The view's name and version. */
  name: string;
  memory?: KeyValueStorage;
  schedule?: Schedule;
  timers?: Timers;
}

/** The program's start says nothing of what goes on beside the agents. */
const isOfMainProgram = (row: TimelineRow): boolean =>
  row.kind !== "program_started" && laneKey(row) === MAIN_LANE;

type Push = { [P in PushName]: { type: P; body: ToUi[P] } }[PushName];

export class Debugger extends ViewState implements Model, Listener {
  readonly #runs: RunList;
  readonly #contents: Contents;
  readonly runs: RunList["known"];
  /** How many older runs are on their way. */
  readonly moreRuns: RunList["more"];
  readonly window: Contents["window"];
  readonly rows: Contents["rows"];
  readonly commits: Contents["commits"]["known"];
  readonly listedCommits: Contents["commits"]["listed"];
  readonly allCommits: Contents["commits"]["complete"];
  readonly finder: Contents["finder"];
  readonly lanes: Contents["lanes"];
  readonly notes: Notes;
  /** How the Core keeps its runs; null until it has said so. */
  readonly store = signal<StoreInfo | null>(null);
  readonly problem = signal<Problem | null>(null);
  readonly compare = signal<Comparison | null>(null);

  /** The run that was asked for; "" is the newest. */
  readonly requestedRun: Signal<string>;
  /** What each event changed in the workspace. */
  readonly files = computed(() => filesOfEvents(this.commits.value));
  readonly commitCount = computed(() => {
    if (this.allCommits.value) return groupCommits(this.commits.value, true).length;
    return this.run.value?.commits ?? 0;
  });
  readonly sent = signal<ReadonlySet<string>>(new Set());

  /** What the Runs tab works on. */
  readonly historyOptions: HistoryOptions;
  readonly inspection: Inspection;
  /** Where runs halt by themselves. */
  readonly breakpoints: Breakpoints;

  readonly #shownRun = signal<string | null>(null);
  #followsNewRuns: boolean;
  /** The run whose contents were asked for last, until they are here. */
  readonly opening = signal<{ run: string } | null>(null);
  readonly #client: Client;
  readonly #drafts: Drafts;
  readonly #inbox: Inbox<Push>;
  readonly #commands: Commands;
  readonly #reader: Reader;

  readonly run = computed(
    () => this.runs.value.find(({ id }) => id === this.#shownRun.value) ?? null,
  );
  readonly control = computed(() => {
    const connection = this.connection.value;
    return connection.kind === "open" && connection.control;
  });
  /** Whether the Core was reached and doesn't know the run that is wanted. */
  readonly isAbsent = computed(() => {
    const requestedRun = this.requestedRun.value;
    const open = this.connection.value.kind === "open";
    if (!open || requestedRun === "" || this.moreRuns.value > 0) return false;
    return !this.runs.value.some(({ id }) => id === requestedRun);
  });
  /** The rows that wait, oldest first. */
  readonly pending = computed(() => {
    const rows = this.window.rows.value;
    const waiting = (this.run.value?.pending ?? []).map((id) => rows.find(id));
    return waiting.filter((row) => row !== null);
  });
  readonly target = computed(() => {
    const open = this.pending.value.filter(({ id }) => !this.sent.value.has(id));
    return open.find(({ id }) => id === this.selectedRow.value) ?? open[0] ?? null;
  });
  /** Whether Step would send an edit. */
  readonly hasDraft = computed(() => {
    const target = this.target.value;
    return target !== null && !target.approval && this.draft(target.id).value !== null;
  });
  /** Whether Continue would send edits: it answers all but what asks for an approval. */
  readonly resumesWithDrafts = computed(() =>
    this.pending.value.some(
      ({ id, approval }) => !approval && !this.sent.value.has(id) && this.draft(id).value !== null,
    ),
  );
  /** Whether the run has several lanes, so that others may wait while one steps. */
  readonly hasParallelLanes = computed(() => {
    const { all } = this.lanes.value;
    return all.length > 1 || (all.length > 0 && this.rows.value.some(isOfMainProgram));
  });
  /** What is wrong with the edit that Step would send, as far as the editor has said. */
  readonly targetDraftError = computed(() =>
    this.target.value?.id === this.selectedRow.value ? this.draftError.value : null,
  );

  /** What can be done now, and why the rest can't. */
  readonly controlStates = computed(() =>
    controls({
      connection: this.connection.value,
      run: this.run.value,
      draftError: this.targetDraftError.value,
      asksApproval: this.target.value?.approval ?? false,
    }),
  );

  constructor(options: DebuggerOptions) {
    super();
    const { transport, name, timers = browserTimers } = options;
    this.requestedRun = signal(options.run);
    this.#followsNewRuns = options.followsNewRuns ?? false;
    this.#drafts = new Drafts(options.memory ?? browserStorage());
    this.#inbox = new Inbox(options.schedule ?? nextFrame, (pushes) => this.#applyPushes(pushes));
    this.#client = new Client({ transport, name, listener: this, timers });
    this.#runs = new RunList((requestedRun) => this.#client.request("list_runs", requestedRun));
    this.#contents = new Contents({
      client: this.#client,
      timers,
      flush: () => this.#inbox.flush(),
      onRows: () => this.#settle(),
      retainedRows: () => [
        ...this.pending.peek(),
        ...this.rows.peek().filter(({ id }) => id === this.selectedRow.peek()),
      ],
      onError: ({ code, message }) => this.onError(code, message),
    });
    ({ known: this.runs, more: this.moreRuns } = this.#runs);
    ({ window: this.window, rows: this.rows, finder: this.finder } = this.#contents);
    this.lanes = this.#contents.lanes;
    const { commits } = this.#contents;
    this.commits = commits.known;
    this.listedCommits = commits.listed;
    this.allCommits = commits.complete;
    this.#commands = new Commands(this, this.#client);
    this.#reader = new Reader(this.#client);
    this.inspection = new CoreInspection(this.#client, () => this.#shownRun.peek() ?? "");
    this.historyOptions = {
      client: this.#client,
      memory: options.memory ?? browserStorage(),
      runs: this.runs,
      store: this.store,
      focused: signal(null),
    };
    this.breakpoints = new Breakpoints({ client: this.#client, run: this.run });
    this.notes = new Notes({
      storedNotes: this.#contents.notes,
      run: this.run,
      send: (note) => this.#sendNote(note),
      onError: (code, message) => this.onError(code, message),
    });
  }

  get connection() {
    return this.#client.connection;
  }

  /** Connect. */
  start(): void {
    this.#client.start();
  }

  close(): void {
    this.#client.close();
    this.#drafts.close();
  }

  // ---- what the person does ------------------------------------------------------------------------

  draft(rowId: string): Signal<Draft | null> {
    return this.#drafts.signalFor(this.#shownRun.peek() ?? "", rowId);
  }

  async openRun(id: string): Promise<void> {
    this.#followsNewRuns = false;
    this.requestedRun.value = id;
    if (id !== this.#shownRun.peek()) await this.#open(id);
  }

  step = (goal?: StepGoal) => this.#commands.step(goal);
  resume = () => this.#commands.resume();
  halt = () => this.#commands.halt();
  stop = () => this.#commands.stop();
  approve = (row: TimelineRow, how: ApprovalOptions) => this.#commands.approve(row, how);
  deny = (row: TimelineRow, reason: string) => this.#commands.deny(row, reason);
  skip: Model["skip"] = (row, result) => this.#commands.skip(row, result);
  raise: Model["raise"] = (row, message, type) => this.#commands.raise(row, message, type);
  guide: Model["guide"] = (row, text) => this.#commands.guide(row, text);
  takeBack: Model["takeBack"] = (row) => this.#commands.takeBack(row);
  rename = (name: string, id?: string) => this.#commands.rename(name, id);
  remove = (id?: string) => this.#commands.remove(id);
  startAgain: Model["startAgain"] = (how) => this.#commands.startAgain(how);
  retry = () => this.#client.retry();

  body = (row: TimelineRow, run = this.#shownRun.peek() ?? "") => this.#reader.body(run, row);
  change = (commit: string, path: string) =>
    this.#reader.change(this.#shownRun.peek() ?? "", commit, path);
  overview = () => this.#reader.overview(this.#shownRun.peek() ?? "");
  readRun = (id: string) => this.#reader.run(id);
  searchRun = (query: string) => this.#reader.search(this.#shownRun.peek() ?? "", query);
  profile = (run: string) => this.#client.request("get_profile", { run });
  modelInfo = (models: readonly string[]) =>
    this.#client.request("get_model_info", { models: [...models] });
  contextWindow = (model: string | null) => contextWindow(this.breakpoints.prices.value, model);
  moreCommits = () => this.#contents.commits.loadMore();
  rowsBefore: Model["rowsBefore"] = (row, enough) => this.window.before(row, enough);

  /** The Core pushes it as well; shown at once, it doesn't give way to the old one for a frame. */
  async #sendNote(note: WriteNote): Promise<void> {
    await this.#client.request("note", note);
    if (note.run !== this.#shownRun.peek()) return;
    const kept = { ...note, at: Date.now() / 1000 };
    this.#contents.applyPush([{ type: "note", body: { note: kept } }], this.run.peek());
  }

  // ---- what the Core says --------------------------------------------------------------------------

  hello({ runs, more, store, ...snapshot }: CoreHello): void {
    this.#inbox.flush();
    this.breakpoints.replaceAll(snapshot);
    const shown = this.requestedRun.peek() === this.#shownRun.peek() ? this.run.peek() : null;
    this.#runs.replaceAll(runs, more, shown, () => this.#openChosen());
    this.store.value = store;
    const id = this.#choose();
    if (id === null) this.#show(null);
    else void this.#open(id);
  }

  push<P extends PushName>(type: P, body: ToUi[P]): void {
    this.#inbox.add({ type, body } as Push);
  }

  onError(code: string, message: string): void {
    this.problem.value = { code, message };
  }

  #applyPushes(pushes: Push[]): void {
    batch(() => {
      const contents: ContentPush[] = [];
      for (const push of pushes) {
        if (push.type === "run") this.#header(push.body.run);
        else if (push.type === "run_gone") this.#gone(push.body.run);
        else if (push.type === "store") this.store.value = push.body.store;
        else if (isBreakpointPush(push)) this.breakpoints.applyPush(push);
        else contents.push(push);
      }
      const shown = this.#shownRun.peek();
      const mine = contents.filter((push) => runOf(push) === shown);
      this.#contents.applyPush(mine, this.run.peek());
      this.#settle();
    });
    this.#openChosen();
  }

  #openChosen(): void {
    const id = this.#choose();
    const under = this.opening.peek()?.run ?? this.#shownRun.peek();
    if (id !== null && id !== under) void this.#open(id);
  }

  #header(run: Run): void {
    const begins = run.state !== "idle" && !this.#runs.has(run.id);
    if (begins && this.#followsNewRuns && this.run.peek()?.state === "idle")
      this.requestedRun.value = "";
    this.#runs.update(run);
  }

  #gone(id: string): void {
    this.#runs.remove(id);
    this.#drafts.forget(id);
    if (this.requestedRun.peek() === id) this.requestedRun.value = "";
    if (this.#shownRun.peek() === id) this.#show(null);
  }

  /** The run to show now: the one wanted; where that is the newest, never away from a living one. */
  #choose(): string | null {
    const runs = this.runs.peek();
    const requestedRun = this.requestedRun.peek();
    if (requestedRun !== "")
      return this.#runs.has(requestedRun) ? requestedRun : (this.run.peek()?.id ?? null);
    const shown = this.run.peek();
    return shown && shown.state !== "idle" ? shown.id : (runs.at(-1)?.id ?? null);
  }

  async #open(id: string): Promise<void> {
    const opening = { run: id };
    this.opening.value = opening;
    const before = this.#shownRun.peek();
    try {
      await this.#client.request("open_run", { run: id }, (opened) => {
        if (this.opening.peek() === opening) this.#opened(opened);
      });
    } catch (error) {
      if (error instanceof CommandError) this.onError(error.code, error.message);
      return;
    } finally {
      if (this.opening.peek() === opening) this.opening.value = null;
    }
    if (before !== null && before !== id && this.#shownRun.peek() === id) {
      this.#client.request("close_run", { run: before }).catch(() => {}); // gone: nothing to close
    }
  }

  /** A run's contents came: they hold all that was pushed before, and nothing of what comes after. */
  #opened(opened: RunOpened): void {
    this.#inbox.flush();
    this.#runs.update(opened.run);
    this.#show(opened.run.id, opened);
  }

  /** Show a run, or none: what came of it here is newer than what was known. */
  #show(id: string | null, opened: RunOpened | null = null): void {
    batch(() => {
      const same = this.#shownRun.peek() === id;
      this.#shownRun.value = id;
      this.#contents.show(opened);
      if (!same) {
        this.resetView();
        this.problem.value = null;
      }
      this.sent.value = new Set();
      this.#settle();
    });
  }

  /** After rows have changed: what was sent is known, what waits is here, and the selection goes on. */
  #settle(): void {
    const pending = this.pending.peek();
    const sent = [...this.sent.peek()].filter((id) => pending.some((row) => row.id === id));
    if (sent.length !== this.sent.peek().size) this.sent.value = new Set(sent);
    // What waits may stand far from the end, where others went on.
    for (const id of this.run.peek()?.pending ?? []) this.window.require(id);
    this.updateSelection();
  }
}
