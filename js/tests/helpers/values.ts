/** Runs and rows with what a test doesn't care about filled in. */
import type { KeyValueStorage } from "../../src/model/storage";
import type {
  AgentLabel,
  BisectState,
  BreakpointRule,
  Commit,
  CoreHello,
  DryRunOutcome,
  FileChange,
  MessageBody,
  RowNote,
  Run,
  RunOpened,
  RunOverview,
  Seam,
  StoreInfo,
  TimelineRow,
  Usage,
} from "../../src/protocol/types.gen";

export const EFFECT_CHECKS = [
  {
    name: "dropped_edit",
    title: "An edit nearly the same as one before had no effect",
    enabled: true,
  },
  { name: "no_effect", title: "A tool says it wrote, and no file changed", enabled: true },
  { name: "failed_effect", title: "A failure is reported, and its effect happened", enabled: true },
];

export function anOverview(fields: Partial<RunOverview> = {}): RunOverview {
  return {
    run: "a",
    rows: 0,
    outcome: "finished",
    reason: "",
    said: "",
    said_row: null,
    contradictions: [],
    tools: [],
    queries: 0,
    query_seconds: 0,
    files: [],
    more_files: 0,
    repeated: [],
    errors: [],
    marked: [],
    checks: EFFECT_CHECKS,
    check_runs: [],
    ...fields,
  };
}

/** A search for a deciding event; there was none unless told otherwise. */
export function aSearch(fields: Partial<BisectState> = {}): BisectState {
  return {
    run: "a",
    revision: 0,
    phase: null,
    bad: null,
    check: "",
    repeat: 0,
    question: "",
    queries: 0,
    probes: [],
    execution: null,
    is_cancelling: false,
    message: "",
    row: null,
    ...fields,
  };
}

export function aRun(id: string, fields: Partial<Run> = {}): Run {
  return {
    id,
    name: `run ${id}`,
    program: "agent.py",
    started_at: 1000,
    ended_at: null,
    state: "step",
    agent_state: "running",
    mode: "step",
    pending: [],
    ending: null,
    failure: null,
    can_stop: true,
    stopping: false,
    rows: 0,
    commits: 0,
    workspace: null,
    pid: 1,
    host: "here",
    tags: [],
    usage: null,
    query_bytes: 0,
    halted_at: null,
    halted_s: 0,
    detached_at: null,
    exit_code: null,
    last_event: null,
    hits: [],
    notice: "",
    ...fields,
  };
}

/** An active seam. */
export const aSeam = (library: string, version: string, fields: Partial<Seam> = {}): Seam => ({
  library,
  kind: "tools",
  version,
  is_active: true,
  reason: "",
  has_failed: false,
  ...fields,
});

/** A run halted at some rows. */
export const haltedRun = (id: string, ...pending: string[]): Run =>
  aRun(id, { state: "halted", agent_state: "halted", pending });

export const endedRun = (id: string): Run =>
  aRun(id, { state: "idle", agent_state: "finished", ending: "finished", ended_at: 1041 });

/** Tokens, in and out. */
export const aUsage = (input: number | null, output: number | null): Usage => ({
  input_tokens: input,
  output_tokens: output,
  cost: null,
  estimated: false,
});

export function aRow(seq: number, fields: Partial<TimelineRow> = {}): TimelineRow {
  return {
    id: `r${seq}`,
    seq,
    event: `e${seq}`,
    kind: "llm_query",
    side: "begin",
    source: "agent",
    target: "llm",
    summary: `event ${seq}`,
    at: 1000 + seq,
    size: 2,
    name: null,
    depth: 0,
    pending: false,
    revision: 1,
    edited: false,
    answer: "resume",
    outcome: null,
    failure: null,
    usage: null,
    duration: null,
    stops: [],
    stop_error: null,
    approval: false,
    reason: null,
    ...fields,
  };
}

/** An agent's name, at no node and in no other agent unless told so. */
export const aLabel = (name: string, fields: Partial<AgentLabel> = {}): AgentLabel => ({
  name,
  node: null,
  parent: null,
  ...fields,
});

/** A row's contents. */
export function aBody(message: string, fields: Partial<MessageBody> = {}): MessageBody {
  return {
    run: "a",
    message,
    revision: 1,
    data: "null",
    pieces: null,
    edit: null,
    strict: true,
    approval: null,
    reason: null,
    always: false,
    traceback: "",
    ...fields,
  };
}

export const pendingRow = (seq: number, fields: Partial<TimelineRow> = {}): TimelineRow =>
  aRow(seq, { pending: true, answer: null, ...fields });

export const rowsTo = (last: number): TimelineRow[] =>
  Array.from({ length: last }, (_, index) => aRow(index + 1));

export function aCommit(id: string, fields: Partial<Commit> = {}): Commit {
  return {
    id,
    run: "a",
    at: 1,
    title: id,
    description: "",
    event: null,
    seq: 0,
    snapshot: false,
    ruled: false,
    sentence: null,
    changes: [aFile("a.py")],
    ...fields,
  };
}

/** What a tool's event changed; nothing unless told. */
export function aSnapshot(id: string, seq: number, fields: Partial<Commit> = {}): Commit {
  return aCommit(id, { snapshot: true, ruled: true, seq, ...fields });
}

export function aFile(path: string, fields: Partial<FileChange> = {}): FileChange {
  return {
    path,
    kind: "changed",
    previous_path: null,
    added: 3,
    removed: 1,
    binary: false,
    size: null,
    digest: null,
    body: null,
    ...fields,
  };
}

export const aNote = (message: string, text: string, fields: Partial<RowNote> = {}): RowNote => ({
  run: "a",
  message,
  text,
  at: 1000,
  ...fields,
});

export const aStore = (fields: Partial<StoreInfo> = {}): StoreInfo => ({
  kind: "memory",
  durability: null,
  folder: null,
  size: null,
  trouble: null,
  ...fields,
});

/** Before any tool of any agent, unless told otherwise. */
export const aBreakpoint = (id: string, fields: Partial<BreakpointRule> = {}): BreakpointRule => ({
  id,
  program: "*",
  kind: "tool_invocation",
  side: "begin",
  name: null,
  on_error: false,
  condition: null,
  watch: null,
  nth: 1,
  once: false,
  // biome-ignore lint/suspicious/noThenProperty: the protocol's word; it is never awaited
  then: "halt",
  enabled: true,
  ...fields,
});

export const aDryRun = (run: string, hits: number[] = [], fields: Partial<DryRunOutcome> = {}) => ({
  run,
  rows: 13,
  hits,
  total: hits.length,
  error: null,
  ...fields,
});

/** The answer to a hello. */
export const aHello = (runs: Run[] = [], fields: Partial<CoreHello> = {}): CoreHello => ({
  version: 2,
  core: "test 1",
  control: true,
  runs,
  more: 0,
  store: aStore(),
  stops: [],
  prices: [],
  ...fields,
});

/** A run's contents, as they come when it is opened or read. */
export const opened = (run: Run, fields: Partial<Omit<RunOpened, "run">> = {}): RunOpened => ({
  run,
  rows: [],
  commits: [],
  notes: [],
  ...fields,
});

/** A browser's memory that a test can look into. */
export function testMemory(
  kept = new Map<string, string>(),
): KeyValueStorage & { kept: Map<string, string> } {
  const watchers = new Set<(key: string) => void>();
  const written = (key: string) => {
    for (const changed of watchers) changed(key);
  };
  return {
    kept,
    get: (key) => kept.get(key) ?? null,
    set(key, value) {
      kept.set(key, value);
      written(key);
    },
    remove(key) {
      kept.delete(key);
      written(key);
    },
    keys: (start) => [...kept.keys()].filter((key) => key.startsWith(start)),
    watch(changed) {
      watchers.add(changed);
      return () => void watchers.delete(changed);
    },
  };
}
