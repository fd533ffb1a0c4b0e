/** Where the person is in the shown run: what is selected, followed, filtered and edited. It stays here. */
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type {
  Draft,
  FileAtRow,
  PendingApproval,
  RunOverview,
  SelectedFile,
  Tab,
  TimelineRow,
} from "./model";
import type { Notes } from "./notes";
import type { RowWindow } from "./row_window";
import { rowOf } from "./rows";

export abstract class ViewState {
  readonly tab = signal<Tab>("timeline");
  readonly selectedRow = signal<string | null>(null);
  readonly selectedFile = signal<SelectedFile | null>(null);
  readonly selectedCommit = signal<string | null>(null);
  readonly selectedPath = signal<string | null>(null);
  /** The shown run at a glance, once that was asked for; of a run that goes on it may be old. */
  readonly glance = signal<RunOverview | null>(null);
  readonly fileAtRow = signal<FileAtRow | null>(null);
  readonly follow = signal(true);
  readonly filter = signal("");
  /** The keys of the lanes that the timeline shows, in their order as texts; none: all. */
  readonly shownLanes = signal<readonly string[]>([]);
  /** Whether the other agents wait while one steps. */
  readonly freezesOthers = signal(false);
  readonly editing = signal(false);
  readonly showOriginal = signal(false);
  readonly draftError = signal<string | null>(null);
  readonly denying = signal<string | null>(null);
  readonly confirming = signal<PendingApproval | null>(null);
  readonly focusedQuestion = signal<{ row: string } | null>(null);
  /** That the shown run is searched: a new object each time it is asked for; null: it isn't. */
  readonly searchRequest = signal<object | null>(null);
  /** The rows whose files are folded away. */
  readonly foldedRows = signal<ReadonlySet<string>>(new Set());
  /** The row that `reveal` was last asked for: a new object each time. */
  readonly revealedRow = signal<{ row: string } | null>(null);
  /** The row, by id or number, that will be selected once it is here. */
  readonly pendingTarget = signal<{ row: string | number } | null>(null);
  /** Whether the timeline sticks to its end: Follow is on, and the person reads nothing else. */
  readonly isAtEnd = computed(() => this.follow.value && !this.#picked.value);
  readonly #picked = signal(false);

  abstract readonly window: RowWindow;
  abstract readonly rows: ReadonlySignal<readonly TimelineRow[]>;
  abstract readonly pending: ReadonlySignal<readonly TimelineRow[]>;
  abstract readonly notes: Notes;
  abstract draft(rowId: string): Signal<Draft | null>;

  /** Whether the person has a row's contents before them. */
  isShown({ id }: TimelineRow): boolean {
    const inSight = this.tab.peek() === "timeline" && this.selectedFile.peek() === null;
    return inSight && this.selectedRow.peek() === id;
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
    const foldedRows = new Set(this.foldedRows.peek());
    open ? foldedRows.delete(rowId) : foldedRows.add(rowId);
    batch(() => {
      this.foldedRows.value = foldedRows;
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

  /** Lead the person to what a row asks: it is shown, and its question gets the focus. */
  focusQuestion(row: TimelineRow): void {
    batch(() => {
      if (!this.isShown(row)) this.reveal(row.id);
      this.focusedQuestion.value = { row: row.id };
    });
  }

  /** Show the rows of all agents, whatever they say. */
  clearFilter(): void {
    batch(() => {
      this.filter.value = "";
      this.shownLanes.value = [];
    });
  }

  /** Show the rows of a lane, or no longer; where none is chosen, all are shown. */
  toggleLane(key: string): void {
    const before = this.shownLanes.peek();
    const rest = before.filter((each) => each !== key);
    this.shownLanes.value = rest.length < before.length ? rest : [...before, key].sort();
  }

  reveal(row: string | number): void {
    batch(() => {
      this.tab.value = "timeline";
      this.clearFilter();
      void this.goTo(row, true);
    });
  }

  /**
   * Select a row, by id or number, once it is here; null where something else was wanted since.
   *
   * @param reveals Whether it is led to from elsewhere.
   */
  async goTo(target: string | number, reveals = false): Promise<TimelineRow | null> {
    const { window } = this;
    const selectFound = (row: TimelineRow): TimelineRow => {
      batch(() => {
        this.select(row.id);
        if (reveals) this.revealedRow.value = { row: row.id };
      });
      return row;
    };
    const rows = window.rows.peek();
    const here = typeof target === "string" ? rows.find(target) : rows.at(target);
    if (here) return selectFound(here);
    const pendingTarget = { row: target };
    batch(() => {
      this.pendingTarget.value = pendingTarget;
      this.#picked.value = true; // until it is here, nothing leads elsewhere
    });
    const found = await (typeof target === "string"
      ? window.fetchById(target)
      : window.fetchAt(target));
    if (this.pendingTarget.peek() !== pendingTarget) return null;
    this.pendingTarget.value = null;
    return found && selectFound(found);
  }

  /** Follow on also gives up the row that was picked: the timeline goes to its end. */
  setFollow(on: boolean): void {
    batch(() => {
      this.follow.value = on;
      if (on) this.followHalts();
    });
  }

  /** Go where the person's own command leads: to the next halt. */
  followHalts(): void {
    this.#picked.value = false;
  }

  /** Another run is shown. */
  protected resetView(): void {
    this.#picked.value = false;
    this.follow.value = true;
    this.clearFilter();
    this.foldedRows.value = new Set();
    for (const place of [this.selectedRow, this.selectedCommit, this.selectedPath])
      place.value = null;
    this.selectedFile.value = null;
    this.notes.writing.value = null;
    this.searchRequest.value = null;
    this.pendingTarget.value = null;
    this.fileAtRow.value = null;
  }

  /** After rows have changed: the selection goes where it may. */
  protected updateSelection(): void {
    const row = this.selectedRow.peek();
    const selection = { row, picked: this.#picked.peek() };
    const writes = row !== null && this.notes.writing.peek() === row;
    const drafted = writes || (row !== null && this.draft(row).peek() !== null);
    const next = reselect({
      rows: this.rows.peek(),
      pending: this.pending.peek(),
      selection,
      follow: this.follow.peek(),
      drafted,
    });
    if (next !== selection) this.#select(next.row, next.picked);
  }

  #select(id: string | null, picked: boolean): void {
    batch(() => {
      this.#picked.value = picked;
      this.pendingTarget.value = null;
      this.selectedFile.value = null;
      if (this.selectedRow.peek() === id) return;
      this.selectedRow.value = id;
      this.notes.writing.value = null;
      this.denying.value = null;
      this.confirming.value = null;
      this.focusedQuestion.value = null;
      this.draftError.value = null;
      this.showOriginal.value = false;
      const waits = this.pending.peek().some((row) => row.id === id);
      // A draft that a reload or a click elsewhere left: go on where it was left.
      this.editing.value = id !== null && waits && this.draft(id).peek() !== null;
    });
  }
}

// ---- Which row is selected when rows arrive: never one that takes a person away from what
// they do.

interface Selection {
  row: string | null;
  /** Whether the person moved it away from the end themselves. */
  picked: boolean;
}

interface SelectionInput {
  rows: readonly TimelineRow[];
  /** Rows that wait, oldest first. */
  pending: readonly TimelineRow[];
  selection: Selection;
  follow: boolean;
  /** Whether the selected row has an unsent edit, or a note is being written beside it. */
  drafted: boolean;
}

/** The selection after rows have changed. */
export function reselect({ rows, pending, selection, follow, drafted }: SelectionInput): Selection {
  const current = rowOf(rows, selection.row);
  const halted = pending[0];
  if (!current) return { row: (halted ?? rows.at(-1))?.id ?? null, picked: false };
  if (!halted || current.pending || drafted) return selection;
  if (selection.picked && !follow) return selection;
  return { row: halted.id, picked: false };
}
