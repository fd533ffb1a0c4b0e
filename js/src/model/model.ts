/**
 * What the view shows and what it can ask for: the seam between the components and the Core.
 *
 * State of the run lives in the Core and is only mirrored here (the read-only signals). What only the
 * person looking needs (selection, tab, an unsent edit) lives here and nowhere else.
 *
 * How the parts meet:
 * - `src/inspector/index.tsx` exports `Inspector({ model })`, a `<section class="as-Pane">` for the
 *   selected row or the file under it; `src/changes/index.tsx` exports `Changes({ model })`, the whole
 *   body of its tab, two panes in a `Split` (`src/view/split.tsx`, name "changes").
 * - Icons: `<Icon name="pencil" />` from `src/icons/icon.tsx`. Actors and times: `src/view/words.ts`.
 * - Styles: `src/styles/`, one file a part; `inspector.css`, `editor.css`, `diff.css` and `changes.css`
 *   belong to the folders of those names.
 * - CodeMirror is only reached by `import("../editor/editor")`: that module is the editor chunk.
 */

import type { ReadonlySignal, Signal } from "@preact/signals";
import type {
  Commit,
  FileBody,
  MessageBody,
  Run,
  RunOpened,
  RunOverview,
  RunStartedAgain,
  StartAgain,
  TimelineRow,
} from "../protocol/types.gen";
import type { EditRules } from "./edit_rules";
import type { Inspection } from "./inspection";
import type { Notes } from "./notes";

export type { Commit, FileBody, MessageBody, Run, RunOpened, RunOverview, TimelineRow };

/** How the view stands with the Core; `stalled` says why answers stay away. */
export type Connection =
  | { kind: "connecting"; stalled?: string }
  | { kind: "open"; control: boolean; core: string; stalled?: string }
  | { kind: "lost"; attempt: number; retryInMs: number }
  | { kind: "refused"; message: string };

/** The unsent edit of one pending row: JSON text, and the row's revision that it was begun at. */
export interface Draft {
  text: string;
  revision: number;
  /** Of a prompt: whether its messages are edited so in later prompts, too. */
  sticky?: boolean;
}

/** A command that the Core refused, to be shown in place. */
export interface Problem {
  code: string;
  message: string;
}

export type Tab = "timeline" | "changes" | "breakpoints" | "runs" | "overview" | "forks";

/** A file as it was at a row, in the Overview tab. */
export interface FileAtRow {
  path: string;
  /** The row's number; what ended by then is in the file. */
  row: number;
}

/** A file under a row of the timeline; without a path the line that counts the rest. */
export interface SelectedFile {
  commit: string;
  path: string | null;
}

/** Two runs side by side, by their ids. */
export interface Comparison {
  left: string;
  right: string;
}

/** How a call is approved. */
export interface ApprovalOptions {
  /** Whether its rule is to allow the like from now on. */
  always: boolean;
  /** Whether the person has confirmed it a second time: of high risk the Core takes nothing else. */
  confirmed: boolean;
}

/** An approval that waits to be confirmed: exactly what the person saw. */
export interface PendingApproval {
  row: string;
  revision: number;
  always: boolean;
  /** The draft that would be sent; null: none. */
  draft: string | null;
}

export interface Model {
  readonly connection: ReadonlySignal<Connection>;
  /** Whether this login may step and edit, and the Core hears us now. */
  readonly control: ReadonlySignal<boolean>;
  /** All runs, oldest first. */
  readonly runs: ReadonlySignal<readonly Run[]>;
  /** The shown run's header. */
  readonly run: ReadonlySignal<Run | null>;
  /** The shown run's rows as far as they are here, by seq. */
  readonly rows: ReadonlySignal<readonly TimelineRow[]>;
  /** The shown run's commits as far as they are here, oldest first; their changes without contents. */
  readonly commits: ReadonlySignal<readonly Commit[]>;
  /** Those of them from the newest on that have no gap. */
  readonly listedCommits: ReadonlySignal<readonly Commit[]>;
  /** Whether these are all. */
  readonly allCommits: ReadonlySignal<boolean>;
  /** How many commits the run has, as a list of changes shows them. */
  readonly commitCount: ReadonlySignal<number>;
  /** The pending row that Step answers: the selected one if it is pending, else the oldest. */
  readonly target: ReadonlySignal<TimelineRow | null>;

  readonly tab: Signal<Tab>;
  /** Selected by us or by `select`; components that act for the person call `select` or `reveal`. */
  readonly selectedRow: Signal<string | null>;
  /** The file under the selected row that is selected in its stead. */
  readonly selectedFile: Signal<SelectedFile | null>;
  readonly selectedCommit: Signal<string | null>;
  readonly selectedPath: Signal<string | null>;
  /** The file that the Overview tab shows. */
  readonly fileAtRow: Signal<FileAtRow | null>;
  /** Whether the timeline stays at its end. */
  readonly follow: Signal<boolean>;
  /** What the timeline is filtered by. */
  readonly filter: Signal<string>;
  /** Whether the selected pending row is being edited (key `e`, Esc); put back when the row changes. */
  readonly editing: Signal<boolean>;
  /** Whether the original is shown beside or in place of an edit (key `o`). */
  readonly showOriginal: Signal<boolean>;
  /** The last refused command; null once dismissed or another command was taken. */
  readonly problem: Signal<Problem | null>;

  /** What a person wrote beside the rows of the shown run. */
  readonly notes: Notes;
  /** The two runs that stand in place of the list of runs; null: the list is there. */
  readonly compare: Signal<Comparison | null>;

  /** The unsent edit of a row; kept per run and row in this browser, so that it survives a reload. */
  draft(rowId: string): Signal<Draft | null>;
  /**
   * Set by the editor while the draft it shows isn't valid JSON: holds Step and Continue back. The
   * model drops it when the selection moves, and checks the draft itself before it sends one.
   */
  readonly draftError: Signal<string | null>;
  /** The row whose denial is being written (key `d`); put back when the selection moves. */
  readonly denying: Signal<string | null>;
  /** What of high risk is to be approved once it is confirmed; put back when the selection moves. */
  readonly confirming: Signal<PendingApproval | null>;
  /** The row whose approval a person was led to by what doesn't answer it: a new object each time. */
  readonly focusedQuestion: ReadonlySignal<{ row: string } | null>;
  /** Halt points that were answered from here; the Core has yet to say so. */
  readonly sent: ReadonlySignal<ReadonlySet<string>>;
  /** Tokens that a model's prompt and answer may have together; null where nobody said so. */
  contextWindow(model: string | null): number | null;
  /** Breakpoints in words, by their ids. */
  readonly breakpoints: {
    describe(ids: readonly string[]): string;
    readonly editRules: Pick<EditRules, "describe">;
  };

  /** The person picks a row. */
  select(rowId: string): void;
  /** The person picks a file that stands under a row. */
  selectFile(rowId: string, file: SelectedFile): void;
  /** Go to a commit in the Changes tab, and there to a file. */
  openCommit(commit: string, path: string | null): void;
  /** Go to a row, by id or number, from elsewhere: timeline tab, selected, scrolled to, unfiltered. */
  reveal(row: string | number): void;
  /** List older commits, if there are any. Tells whether there were. */
  moreCommits(): Promise<boolean>;
  /**
   * The rows that stand before one without a gap, as far as they are here.
   *
   * @param enough Whether these do; else some further back are asked for.
   */
  rowsBefore(
    row: TimelineRow,
    enough: (rows: readonly TimelineRow[]) => boolean,
  ): Promise<readonly TimelineRow[]>;

  /**
   * A row's contents; cached by id and revision. Rejects with `CommandError` or when the link is lost.
   *
   * @param run The row's run, where it isn't the shown one.
   */
  body(row: TimelineRow, run?: string): Promise<MessageBody>;
  /** A changed file's contents; null where it is binary or too large. Cached. */
  change(commit: string, path: string): Promise<FileBody | null>;

  /** The shown run at a glance, as it stands now. Rejects as `body` does. */
  overview(): Promise<RunOverview>;
  /** A run whole, as it stands now, shown or not. Rejects as `body` does. */
  readRun(id: string): Promise<RunOpened>;

  /** What the agent says of a halt point that it waits at: asked live, and kept nowhere. */
  readonly inspection: Inspection;

  /** Show another run; resolves once it is shown, or the problem says why it can't be. */
  openRun(id: string): Promise<void>;
  /** Answer the target, with its draft as the edit where there is one; lead to it where it asks. */
  step(): Promise<void>;
  /** Continue, with the drafts of pending rows as edits; what asks for an approval still waits. */
  resume(): Promise<void>;
  halt(): Promise<void>;
  stop(): Promise<void>;
  /** Approve what a row asks, with its draft as the edit where there is one. */
  approve(row: TimelineRow, how: ApprovalOptions): Promise<void>;
  /**
   * Don't let the call happen that a row begins.
   *
   * @param reason For the agent to read.
   */
  deny(row: TimelineRow, reason: string): Promise<void>;
  /** Give a call's result, as JSON text, in its place. Tells whether the Core took it; so the next two. */
  skip(row: TimelineRow, result: string): Promise<boolean>;
  /** Let the agent's code see an exception; a type of "" is InjectedError. */
  raise(row: TimelineRow, message: string, type: string): Promise<boolean>;
  /** Add a message to a pending prompt, without answering. */
  guide(row: TimelineRow, text: string): Promise<boolean>;
  /** Take the edit of a pending row back. */
  takeBack(row: TimelineRow): Promise<void>;
  /** Name a run; without an id the shown one. */
  rename(name: string, id?: string): Promise<void>;
  /** Delete a run that has ended; without an id the shown one. */
  remove(id?: string): Promise<void>;
  /** Start a run again: the new run, or the cell that is to be run; null where that was refused. */
  startAgain(how: StartAgain): Promise<RunStartedAgain | null>;
  /** Tell the person of something that went wrong. */
  onError(code: string, message: string): void;
  /** Try to connect now instead of waiting for the next attempt. */
  retry(): void;
}
