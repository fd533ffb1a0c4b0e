/** A model without a Core: rows and bodies that a test lays down. */
import { computed, type Signal, signal } from "@preact/signals";
import { groupCommits } from "../../src/model/commits";
import type {
  Commit,
  Draft,
  FileBody,
  MessageBody,
  Model,
  Run,
  SelectedFile,
  TimelineRow,
} from "../../src/model/model";
import { Notes } from "../../src/model/notes";
import type { RowNote } from "../../src/protocol/types.gen";
import { aBody, anOverview, aRow, aRun, opened } from "../helpers/values";

/** A row that nobody has answered; its event is its own. */
export const row = (more: Partial<TimelineRow> & Pick<TimelineRow, "id">): TimelineRow =>
  aRow(1, { event: more.id, summary: "", at: 1_764_000_000, size: 100, answer: null, ...more });

export interface Content {
  data: string;
  edit?: string;
  strict?: boolean;
  approval?: MessageBody["approval"];
  reason?: string;
  always?: boolean;
  traceback?: string;
}

export interface FakeModel extends Model {
  readonly rows: Signal<readonly TimelineRow[]>;
  readonly run: Signal<Run | null>;
  readonly commits: Signal<readonly Commit[]>;
  readonly control: Signal<boolean>;
  readonly contents: Map<string, Content>;
  readonly files: Map<string, FileBody | null>;
  /** What was asked to be revealed. */
  readonly revealed: string[];
}

export function fakeModel(laid: [TimelineRow, Content][] = []): FakeModel {
  const drafts = new Map<string, Signal<Draft | null>>();
  const contents = new Map(laid.map(([{ id }, content]) => [id, content]));
  const rows = signal<readonly TimelineRow[]>(laid.map(([one]) => one));
  const selectedRow = signal<string | null>(rows.peek().at(-1)?.id ?? null);
  const revealed: string[] = [];
  const files = new Map<string, FileBody | null>();
  const nothing = async () => {};
  const taken = async () => true;
  const run = signal<Run | null>(null);
  const commits = signal<readonly Commit[]>([]);
  const kept = signal<ReadonlyMap<string, RowNote>>(new Map());
  return {
    contextWindow: () => null,
    startAgain: async () => null,
    onError: () => {},
    connection: signal({ kind: "open", control: true, core: "test" } as const),
    control: signal(true),
    runs: signal([]),
    run,
    rows,
    commits,
    listedCommits: commits,
    allCommits: signal(true),
    commitCount: computed(() => groupCommits(commits.value, true).length),
    target: computed(() => rows.value.find((one) => one.pending) ?? null),
    tab: signal("timeline" as const),
    selectedRow,
    selectedFile: signal<SelectedFile | null>(null),
    selectedCommit: signal<string | null>(null),
    selectedPath: signal<string | null>(null),
    fileAtRow: signal(null),
    follow: signal(true),
    filter: signal(""),
    editing: signal(false),
    showOriginal: signal(false),
    problem: signal(null),
    notes: new Notes({ storedNotes: kept, run, send: nothing, onError: () => {} }),
    compare: signal(null),
    draftError: signal<string | null>(null),
    denying: signal<string | null>(null),
    confirming: signal(null),
    focusedQuestion: signal(null),
    breakpoints: {
      describe: (ids) => ids.map((id) => `“${id}”`).join(", "),
      editRules: { describe: (ids) => ids.join(", ") },
    },
    skip: taken,
    raise: taken,
    guide: taken,
    takeBack: nothing,
    sent: signal<ReadonlySet<string>>(new Set()),
    draft(id) {
      const known = drafts.get(id) ?? signal<Draft | null>(null);
      drafts.set(id, known);
      return known;
    },
    select: (id) => {
      selectedRow.value = id;
    },
    selectFile: () => {},
    openCommit: () => {},
    reveal: (row) => {
      const found = rows.peek().find(({ id, seq }) => row === id || row === seq);
      if (!found) return;
      revealed.push(found.id);
      selectedRow.value = found.id;
    },
    moreCommits: async () => false,
    rowsBefore: async ({ seq }) => rows.peek().filter((one) => one.seq < seq),
    body: async ({ id, revision }): Promise<MessageBody> => {
      const content = contents.get(id);
      if (!content) throw new Error(`no contents of ${id}`);
      const { data, edit = null, strict = true, ...more } = content;
      return aBody(id, { run: "r", revision, data, edit, strict, ...more });
    },
    change: async (commit, path) => files.get(`${commit} ${path}`) ?? null,
    readRun: async (id) => opened(aRun(id), { rows: [...rows.peek()] }),
    overview: async () => anOverview(),
    inspection: {} as Model["inspection"],
    openRun: nothing,
    step: nothing,
    resume: nothing,
    halt: nothing,
    stop: nothing,
    approve: nothing,
    deny: nothing,
    rename: nothing,
    remove: nothing,
    retry: () => {},
    contents,
    files,
    revealed,
  } as FakeModel;
}
