/** The model as it stands on a client: mirrors the Core, and keeps what only this person's view needs. */
import { batch, computed, type Signal, signal } from "@preact/signals";
import type { Timers } from "../client/backoff";
import { Client, CommandError, type Listener } from "../client/client";
import type { Transport } from "../client/transport";
import type { PushName } from "../protocol/messages";
import type { CoreHello, ToUi } from "../protocol/types.gen";
import { Cache } from "./cache";
import { Commands } from "./commands";
import { filesOfEvents } from "./commits";
import { Drafts } from "./drafts";
import { foldCommit, foldRows, foldRun, rowOf } from "./fold";
import { Inbox, nextFrame, type Schedule } from "./inbox";
import type {
  Commit,
  Draft,
  FileBody,
  MessageBody,
  Model,
  Problem,
  Row,
  Run,
  SelectedFile,
  Tab,
} from "./model";
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

type Push = { [P in PushName]: { type: P; body: ToUi[P] } }[PushName];

export class Debugger implements Model, Listener {
  readonly runs = signal<readonly Run[]>([]);
  readonly rows = signal<readonly Row[]>([]);
  readonly commits = signal<readonly Commit[]>([]);
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

  readonly #shown = signal<string | null>(null);
  readonly #picked = signal(false);
  #goesOn: boolean;
  /** The run whose contents were asked for last, until they are here. */
  readonly opening = signal<{ run: string } | null>(null);
  readonly #client: Client;
  readonly #drafts: Drafts;
  readonly #inbox: Inbox<Push>;
  readonly #commands: Commands;
  readonly #bodies = new Cache<MessageBody>(({ data, edit }) => data.length + (edit?.length ?? 0));
  readonly #changes = new Cache<FileBody | null>((body) =>
    body ? body.diff.length + body.content.length + body.previous_content.length : 0,
  );

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

  openRun(id: string): void {
    this.#goesOn = false;
    this.wanted.value = id;
    if (id !== this.#shown.peek()) void this.#open(id);
  }

  step = () => this.#commands.step();
  resume = () => this.#commands.resume();
  halt = () => this.#commands.halt();
  stop = () => this.#commands.stop();
  rename = (name: string, id?: string) => this.#commands.rename(name, id);
  remove = (id?: string) => this.#commands.remove(id);
  retry = () => this.#client.retry();

  body(row: Row): Promise<MessageBody> {
    const run = this.#shown.peek() ?? "";
    return this.#bodies.get(`${run}:${row.id}:${row.revision}`, () =>
      this.#client.request("get_message", { run, message: row.id }),
    );
  }

  change(commit: string, path: string): Promise<FileBody | null> {
    const run = this.#shown.peek() ?? "";
    return this.#changes.get(`${run}:${commit}:${path}`, async () => {
      const { body } = await this.#client.request("get_change", { run, commit, path });
      return body;
    });
  }

  /** Go where the person's own command leads: to the next halt. */
  goAlong(): void {
    this.#picked.value = false;
  }

  // ---- what the Core says --------------------------------------------------------------------------

  hello({ runs }: CoreHello): void {
    this.#inbox.flush();
    this.runs.value = runs;
    const id = this.#choose();
    if (id === null) this.#show(null, [], []);
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
      const rows: Row[] = [];
      for (const { type, body } of pushes) {
        if (type === "run") this.#header(body.run);
        else if (type === "run_gone") this.#gone(body.run);
        else if (body.run !== this.#shown.peek()) continue;
        else if (type === "row") rows.push(body.row);
        else this.commits.value = foldCommit(this.commits.peek(), body.commit);
      }
      this.rows.value = foldRows(this.rows.peek(), rows);
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
    if (this.#shown.peek() === id) this.#show(null, [], []);
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
      const { run, rows, commits } = await this.#client.request("open_run", { run: id });
      if (this.opening.peek() !== opening) return;
      this.#inbox.flush();
      this.runs.value = foldRun(this.runs.peek(), run);
      this.#show(id, rows, commits);
    } catch (error) {
      if (error instanceof CommandError) this.trouble(error.code, error.message);
      return;
    } finally {
      if (this.opening.peek() === opening) this.opening.value = null;
    }
    if (before !== null && before !== id) {
      this.#client.request("close_run", { run: before }).catch(() => {}); // gone: nothing to close
    }
  }

  /** Show a run whole: its rows here replace what was known. */
  #show(id: string | null, rows: readonly Row[], commits: readonly Commit[]): void {
    batch(() => {
      const same = this.#shown.peek() === id;
      this.#shown.value = id;
      this.rows.value = rows;
      this.commits.value = commits;
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
  }

  /** After rows have changed: what was sent is known, and the selection goes where it may. */
  #settle(): void {
    const pending = this.pending.peek();
    const sent = [...this.sent.peek()].filter((id) => pending.some((row) => row.id === id));
    if (sent.length !== this.sent.peek().size) this.sent.value = new Set(sent);
    const row = this.selectedRow.peek();
    const selection = { row, picked: this.#picked.peek() };
    const drafted = row !== null && this.draft(row).peek() !== null;
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
      this.draftError.value = null;
      this.showOriginal.value = false;
      const waits = this.pending.peek().some((row) => row.id === id);
      // A draft that a reload or a click elsewhere left: go on where it was left.
      this.editing.value = id !== null && waits && this.draft(id).peek() !== null;
    });
  }
}
