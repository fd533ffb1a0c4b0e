/** The model as it stands on a client: mirrors the Core, and keeps what only this person's view needs. */
import { batch, computed, type Signal, signal } from "@preact/signals";
import type { Timers } from "../client/backoff";
import { Client, CommandError, type Listener } from "../client/client";
import type { Transport } from "../client/transport";
import type { PushName } from "../protocol/messages";
import type { CoreHello, RunOpened, StoreInfo, ToUi, WriteNote } from "../protocol/types.gen";
import { Commands } from "./commands";
import { filesOfEvents } from "./commits";
import { type ContentPush, Contents, runOf } from "./contents";
import { Drafts } from "./drafts";
import { foldRun, rowOf } from "./fold";
import { History } from "./history";
import { Inbox, nextFrame, type Schedule } from "./inbox";
import type { Comparison, Draft, Model, Problem, Row, Run, SelectedFile, Tab } from "./model";
import { Notes } from "./notes";
import { Reader } from "./reader";
import { reselect } from "./selection";
import { browserMemory, type Memory } from "./storage";

export interface DebuggerOptions {
  transport: Transport;
  /** The run to show; "" shows the newest, and newer ones as they begin. */
  run: string;
  /** Whether to go on to a run that begins once this one has ended, until the person picks one. */
  goOn?: boolean;
  /** The view's name and version. */
  name: string;
  memory?: Memory;
  schedule?: Schedule;
  timers?: Timers;
}

const NOTHING = { rows: [], commits: [], notes: [] };

type Push = { [P in PushName]: { type: P; body: ToUi[P] } }[PushName];

export class Debugger implements Model, Listener {
  readonly runs = signal<readonly Run[]>([]);
  readonly #contents = new Contents();
  readonly rows = this.#contents.rows;
  readonly commits = this.#contents.commits;
  readonly notes: Notes;
  /** How the Core keeps its runs; null until it has said so. */
  readonly store = signal<StoreInfo | null>(null);
  readonly tab = signal<Tab>("timeline");
  readonly selectedRow = signal<string | null>(null);
  readonly selectedFile = signal<SelectedFile | null>(null);
  readonly selectedCommit = signal<string | null>(null);
  readonly selectedPath = signal<string | null>(null);
  readonly follow = signal(true);
  readonly filter = signal("");
  readonly editing = signal(false);
  readonly showOriginal = signal(false);
  readonly draftError = signal<string | null>(null);
  readonly problem = signal<Problem | null>(null);
  readonly compare = signal<Comparison | null>(null);

  /** The run that was asked for; "" is the newest. */
  readonly wanted: Signal<string>;
  /** Whether the timeline sticks to its end: Follow is on, and the person reads nothing else. */
  readonly sticks = computed(() => this.follow.value && !this.#picked.value);
  /** The rows whose files are folded away. */
  readonly folded = signal<ReadonlySet<string>>(new Set());
  /** What each event changed in the workspace. */
  readonly files = computed(() => filesOfEvents(this.commits.value));
  /** The row that `reveal` was last asked for: a new object each time. */
  readonly revealed = signal<{ row: string } | null>(null);
  /** Breakpoints that were answered from here; the Core has yet to say so. */
  readonly sent = signal<ReadonlySet<string>>(new Set());

  /** All runs, for who looks back. */
  readonly history: History;

  readonly #shown = signal<string | null>(null);
  readonly #picked = signal(false);
  #goesOn: boolean;
  /** The run whose contents were asked for last, until they are here. */
  readonly opening = signal<{ run: string } | null>(null);
  readonly #client: Client;
  readonly #drafts: Drafts;
  readonly #inbox: Inbox<Push>;
  readonly #commands: Commands;
  readonly #reader: Reader;

  readonly run = computed(() => this.runs.value.find(({ id }) => id === this.#shown.value) ?? null);
  readonly control = computed(() => {
    const connection = this.connection.value;
    return connection.kind === "open" && connection.control;
  });
  /** Whether the Core was reached and doesn't know the run that is wanted. */
  readonly absent = computed(() => {
    const wanted = this.wanted.value;
    const open = this.connection.value.kind === "open";
    return open && wanted !== "" && !this.runs.value.some(({ id }) => id === wanted);
  });
  /** The rows that wait, oldest first. */
  readonly pending = computed(() => {
    const rows = this.rows.value;
    const waiting = (this.run.value?.pending ?? []).map((id) => rowOf(rows, id));
    return waiting.filter((row) => row !== null);
  });
  readonly target = computed(() => {
    const open = this.pending.value.filter(({ id }) => !this.sent.value.has(id));
    return open.find(({ id }) => id === this.selectedRow.value) ?? open[0] ?? null;
  });
  /** Whether Step would send an edit. */
  readonly drafted = computed(() => {
    const target = this.target.value;
    return target !== null && this.draft(target.id).value !== null;
  });
  /** What is wrong with the edit that Step would send, as far as the editor has said. */
  readonly heldBy = computed(() =>
    this.target.value?.id === this.selectedRow.value ? this.draftError.value : null,
  );

  constructor(options: DebuggerOptions) {
    const { transport, name, timers } = options;
    this.wanted = signal(options.run);
    this.#goesOn = options.goOn ?? false;
    this.#drafts = new Drafts(options.memory ?? browserMemory());
    this.#inbox = new Inbox(options.schedule ?? nextFrame, (pushes) => this.#take(pushes));
    this.#client = new Client({ transport, name, listener: this, ...(timers && { timers }) });
    this.#commands = new Commands(this, this.#client);
    this.#reader = new Reader(this.#client);
    this.history = new History({
      client: this.#client,
      memory: options.memory ?? browserMemory(),
      runs: this.runs,
      store: this.store,
    });
    this.notes = new Notes({
      kept: this.#contents.notes,
      run: this.run,
      send: (note) => this.#sendNote(note),
      trouble: (code, message) => this.trouble(code, message),
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
    return this.#drafts.of(this.#shown.peek() ?? "", rowId);
  }

  select(rowId: string): void {
    this.#select(rowId, rowId !== this.rows.peek().at(-1)?.id);
  }

  selectFile(rowId: string, file: SelectedFile): void {
    batch(() => {
      this.select(rowId);
      this.editing.value = false; // the file stands where the editor would; the draft is kept
      this.selectedFile.value = file;
    });
  }

  /** Show the files under a row, or put them away: a selected one gives the row back. */
  fold(rowId: string, open: boolean): void {
    const folded = new Set(this.folded.peek());
    open ? folded.delete(rowId) : folded.add(rowId);
    batch(() => {
      this.folded.value = folded;
      if (!open && this.selectedRow.peek() === rowId) this.selectedFile.value = null;
    });
  }

  openCommit(commit: string, path: string | null): void {
    batch(() => {
      this.selectedCommit.value = commit;
      this.selectedPath.value = path;
      this.tab.value = "changes";
    });
  }

  reveal(rowId: string): void {
    batch(() => {
      this.tab.value = "timeline";
      this.filter.value = "";
      this.select(rowId);
      this.revealed.value = { row: rowId };
    });
  }

  /** Follow on also gives up the row that was picked: the timeline goes to its end. */
  setFollow(on: boolean): void {
    batch(() => {
      this.follow.value = on;
      if (on) this.goAlong();
    });
  }

  async openRun(id: string): Promise<void> {
    this.#goesOn = false;
    this.wanted.value = id;
    if (id !== this.#shown.peek()) await this.#open(id);
  }

  step = () => this.#commands.step();
  resume = () => this.#commands.resume();
  halt = () => this.#commands.halt();
  stop = () => this.#commands.stop();
  rename = (name: string, id?: string) => this.#commands.rename(name, id);
  remove = (id?: string) => this.#commands.remove(id);
  retry = () => this.#client.retry();

  body = (row: Row, run = this.#shown.peek() ?? "") => this.#reader.body(run, row);
  change = (commit: string, path: string) =>
    this.#reader.change(this.#shown.peek() ?? "", commit, path);
  readRun = (id: string) => this.#reader.run(id);

  /** Go where the person's own command leads: to the next halt. */
  goAlong(): void {
    this.#picked.value = false;
  }

  /** The Core pushes it as well; shown at once, it doesn't give way to the old one for a frame. */
  async #sendNote(note: WriteNote): Promise<void> {
    await this.#client.request("note", note);
    if (note.run !== this.#shown.peek()) return;
    const kept = { ...note, at: Date.now() / 1000 };
    this.#contents.fold([{ type: "note", body: { note: kept } }]);
  }

  // ---- what the Core says --------------------------------------------------------------------------

  hello({ runs, store }: CoreHello): void {
    this.#inbox.flush();
    this.runs.value = runs;
    this.store.value = store;
    const id = this.#choose();
    if (id === null) this.#show(null);
    else void this.#open(id);
  }

  push<P extends PushName>(type: P, body: ToUi[P]): void {
    this.#inbox.put({ type, body } as Push);
  }

  trouble(code: string, message: string): void {
    this.problem.value = { code, message };
  }

  #take(pushes: Push[]): void {
    batch(() => {
      const contents: ContentPush[] = [];
      for (const push of pushes) {
        if (push.type === "run") this.#header(push.body.run);
        else if (push.type === "run_gone") this.#gone(push.body.run);
        else if (push.type === "store") this.store.value = push.body.store;
        else contents.push(push);
      }
      const shown = this.#shown.peek();
      this.#contents.fold(contents.filter((push) => runOf(push) === shown));
      this.#settle();
    });
    const id = this.#choose();
    const under = this.opening.peek()?.run ?? this.#shown.peek();
    if (id !== null && id !== under) void this.#open(id);
  }

  #header(run: Run): void {
    const begins = run.state !== "idle" && !this.runs.peek().some(({ id }) => id === run.id);
    if (begins && this.#goesOn && this.run.peek()?.state === "idle") this.wanted.value = "";
    this.runs.value = foldRun(this.runs.peek(), run);
  }

  #gone(id: string): void {
    this.runs.value = this.runs.peek().filter((run) => run.id !== id);
    this.#drafts.forget(id);
    if (this.wanted.peek() === id) this.wanted.value = "";
    if (this.#shown.peek() === id) this.#show(null);
  }

  /** The run to show now: the one wanted; where that is the newest, never away from a living one. */
  #choose(): string | null {
    const runs = this.runs.peek();
    const wanted = this.wanted.peek();
    if (wanted !== "")
      return runs.some(({ id }) => id === wanted) ? wanted : (this.run.peek()?.id ?? null);
    const shown = this.run.peek();
    return shown && shown.state !== "idle" ? shown.id : (runs.at(-1)?.id ?? null);
  }

  async #open(id: string): Promise<void> {
    const opening = { run: id };
    this.opening.value = opening;
    const before = this.#shown.peek();
    try {
      await this.#client.request("open_run", { run: id }, (opened) => {
        if (this.opening.peek() === opening) this.#opened(opened);
      });
    } catch (error) {
      if (error instanceof CommandError) this.trouble(error.code, error.message);
      return;
    } finally {
      if (this.opening.peek() === opening) this.opening.value = null;
    }
    if (before !== null && before !== id && this.#shown.peek() === id) {
      this.#client.request("close_run", { run: before }).catch(() => {}); // gone: nothing to close
    }
  }

  /** A run's contents came: they hold all that was pushed before, and nothing of what comes after. */
  #opened({ run, ...contents }: RunOpened): void {
    this.#inbox.flush();
    this.runs.value = foldRun(this.runs.peek(), run);
    this.#show(run.id, contents);
  }

  /** Show a run whole: its contents here replace what was known. */
  #show(id: string | null, contents: Omit<RunOpened, "run"> = NOTHING): void {
    batch(() => {
      const same = this.#shown.peek() === id;
      this.#shown.value = id;
      this.#contents.show(contents);
      if (!same) this.#forgetPlace();
      this.sent.value = new Set();
      this.#settle();
    });
  }

  #forgetPlace(): void {
    this.#picked.value = false;
    this.follow.value = true;
    this.filter.value = "";
    this.problem.value = null;
    this.folded.value = new Set();
    for (const place of [this.selectedRow, this.selectedCommit, this.selectedPath])
      place.value = null;
    this.selectedFile.value = null;
    this.notes.writing.value = null;
  }

  /** After rows have changed: what was sent is known, and the selection goes where it may. */
  #settle(): void {
    const pending = this.pending.peek();
    const sent = [...this.sent.peek()].filter((id) => pending.some((row) => row.id === id));
    if (sent.length !== this.sent.peek().size) this.sent.value = new Set(sent);
    const row = this.selectedRow.peek();
    const selection = { row, picked: this.#picked.peek() };
    const writes = row !== null && this.notes.writing.peek() === row;
    const drafted = writes || (row !== null && this.draft(row).peek() !== null);
    const next = reselect({
      rows: this.rows.peek(),
      pending,
      selection,
      follow: this.follow.peek(),
      drafted,
    });
    if (next !== selection) this.#select(next.row, next.picked);
  }

  #select(id: string | null, picked: boolean): void {
    batch(() => {
      this.#picked.value = picked;
      this.selectedFile.value = null;
      if (this.selectedRow.peek() === id) return;
      this.selectedRow.value = id;
      this.notes.writing.value = null;
      this.draftError.value = null;
      this.showOriginal.value = false;
      const waits = this.pending.peek().some((row) => row.id === id);
      // A draft that a reload or a click elsewhere left: go on where it was left.
      this.editing.value = id !== null && waits && this.draft(id).peek() !== null;
    });
  }
}
