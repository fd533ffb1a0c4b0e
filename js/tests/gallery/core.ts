/** A Core that plays a scene: it answers from what the scene laid down, and pushes what comes next. */
import type { Link, LinkEvents, Transport } from "../../src/client/transport";
import type { CommandName, PushName } from "../../src/protocol/messages";
import type {
  BisectState,
  BreakpointRule,
  DryRunOutcome,
  EditRuleDefinition,
  EditRuleOutcome,
  FromUi,
  Run,
  SampledAnswer,
  StoreInfo,
  ToUi,
} from "../../src/protocol/types.gen";
import { aHello, anOverview, aSearch, opened } from "../helpers/values";
import type { Story } from "./story";

export type Push = { [P in PushName]: [P, ToUi[P]] }[PushName];

/** What the agent of a scene answers about its stack. */
export interface InspectionScript {
  stack: ToUi["stack"];
  variables(asked: FromUi["get_variables"]): ToUi["variables"];
  evaluate(asked: FromUi["evaluate"]): ToUi["evaluated"];
  completions: ToUi["completions"];
}

export interface Script {
  /** What a query is answered that is asked again, in turn. */
  samples?: SampledAnswer[];
  /** The run that is shown; none where the Core knows of none. */
  story?: Story;
  /** Other runs in the list, older ones first. */
  others?: Run[];
  /** Whether this login may control; it may unless told otherwise. */
  control?: boolean;
  /** What the link does: stand, never open, be refused, or break once all is shown. */
  link?: "stands" | "never" | "refused" | "breaks";
  /** What is pushed after each step, one entry a step. */
  steps?: Push[][];
  /** How runs are kept; well, unless told otherwise. */
  store?: Partial<StoreInfo>;
  /** Other runs whose contents can be read, beside those of the shown one. */
  read?: Story[];
  /** What the Core says of the run at a glance; that all went well, unless told otherwise. */
  overview?: ToUi["overview"];
  /** What every search finds. */
  found?: ToUi["found"];
  /** The breakpoints that are set. */
  breakpoints?: BreakpointRule[];
  /** Where a breakpoint would have hit: in the shown run, then in others. */
  dryRuns?: DryRunOutcome[];
  /** The edit rules that are set, what one would have edited, and one as Python. */
  editRules?: EditRuleDefinition[];
  editRuleDryRuns?: EditRuleOutcome[];
  editRuleCode?: string;
  /** Why no dry run is possible. */
  dryRunProblem?: string;
  inspection?: InspectionScript;
  /** What becomes of a run that is started again. */
  startedAgain?: ToUi["started_again"];
  /** The run's search for the deciding event; there was none, unless told otherwise. */
  search?: BisectState;
  /** The tree that the shown run belongs to; the run alone, unless told otherwise. */
  forks?: ToUi["forks"];
  /** What commands are refused with. */
  refuses?: { code: string; message: string };
}

export class ScriptedCore implements Transport {
  readonly #script: Script;
  readonly #steps: Push[][];
  #events: LinkEvents | null = null;
  #sent = 0;
  #sampled = 0;
  #links = 0;

  constructor(script: Script) {
    this.#script = script;
    this.#steps = [...(script.steps ?? [])];
  }

  open(events: LinkEvents): Link {
    this.#links += 1;
    this.#events = events;
    this.#sent = 0;
    const { link = "stands" } = this.#script;
    if (link === "refused")
      queueMicrotask(() => events.closed({ code: 1006, reason: "", opened: false }));
    else if (link !== "never" && !(link === "breaks" && this.#links > 1))
      queueMicrotask(() => events.opened());
    return {
      send: (text) => queueMicrotask(() => this.#answer(JSON.parse(text))),
      close: () => {
        this.#events = null;
      },
    };
  }

  explain = async () =>
    this.#script.link === "refused"
      ? "Your login has ended. Log in to Jupyter again in another tab, then come back."
      : null;

  /** End the link, as a server that restarts does. */
  drop(): void {
    this.#events?.closed({ code: 1006, reason: "", opened: true });
  }

  /** Push what comes next; tells whether there was something. */
  next(): boolean {
    const pushes = this.#steps.shift();
    for (const [type, body] of pushes ?? []) this.#say(type, body);
    return pushes !== undefined;
  }

  #say(type: string, body: unknown, id?: string): void {
    this.#sent += 1;
    this.#events?.message(JSON.stringify({ n: this.#sent, type, ...(id && { id }), body }));
  }

  #answer({ id, type, body }: { id: string; type: CommandName; body: never }): void {
    const { refuses, inspection, samples } = this.#script;
    const asks: Partial<Record<CommandName, () => [keyof ToUi, unknown]>> = {
      hello: () => ["hello", this.#hello()],
      open_run: () => ["run_opened", this.#opened(body)],
      read_run: () => ["run_opened", this.#opened(body)],
      get_message: () => ["message", this.#message(body)],
      get_change: () => ["change", this.#change(body)],
      get_overview: () => ["overview", this.#overview(body)],
      get_profile: () => ["profile", this.#profile(body)],
      get_model_info: () => ["model_info", { source: "genai-prices 0.2.3", models: [] }],
      start_again: () => ["started_again", this.#script.startedAgain ?? {}],
      list_forks: () => ["forks", this.#script.forks ?? { nodes: [], more: 0, restored: [] }],
      get_bisect: () => ["bisect", this.#script.search ?? aSearch()],
      export_test: () => ["test_exported", { path: "/home/me/shop/test_fix_tests.py" }],
      get_store: () => ["store", { store: this.#store() }],
      try_stop: () => this.#dryRun(body),
      try_edit_rule: () => this.#dryRunEditRule(body),
      export_edit_rule: () => [
        "edit_rule_exported",
        { code: this.#script.editRuleCode ?? "pass\n" },
      ],
      // The view finds what its rows say; inside what they hold there is nothing more.
      find_rows: () => ["rows_found", { run: "a", seqs: [], total: 0 }],
      search: () => ["found", this.#script.found ?? { hits: [], more: false }],
    };
    if (inspection)
      Object.assign(asks, {
        get_stack: () => ["stack", inspection.stack],
        get_variables: () => ["variables", inspection.variables(body)],
        evaluate: () => ["evaluated", inspection.evaluate(body)],
        complete: () => ["completions", inspection.completions],
      });
    if (samples)
      Object.assign(asks, {
        get_sampling: () => ["sampling", { left: 20 - this.#sampled }],
        sample_query: () => ["sampled", samples[this.#sampled++ % samples.length]],
      });
    const answer = asks[type];
    if (answer) {
      const [kind, content] = answer();
      this.#say(kind, content, id);
    } else if (refuses) {
      this.#say("error", { ...refuses, run: "a" }, id);
    } else {
      this.#say("ok", {}, id);
      this.next();
    }
  }

  #hello(): ToUi["hello"] {
    const { story, others = [], read = [], control = true, breakpoints = [] } = this.#script;
    const runs = [...others, ...read.map(({ run }) => run), ...(story ? [story.run] : [])];
    return aHello(runs, {
      core: "agentstepper_nb 0.1",
      control,
      stops: breakpoints,
      ...(this.#script.editRules && { edit_rules: this.#script.editRules }),
      store: this.#store(),
    });
  }

  #overview({ run: id }: FromUi["get_overview"]): ToUi["overview"] {
    const run = this.#storyOf(id)?.run;
    const outcome = run?.ending ?? "running";
    return this.#script.overview ?? anOverview({ run: id, rows: run?.rows ?? 0, outcome });
  }

  /** When the events of the story ran, with prompts that grow. */
  #profile({ run }: FromUi["get_profile"]): ToUi["profile"] {
    const rows = this.#storyOf(run)?.rows ?? [];
    const begins = rows.filter(({ side, kind }) => side === "begin" && !kind.startsWith("program"));
    const events = begins.map((row, at) => {
      const end = rows.find(({ event, side }) => event === row.event && side === "end");
      return {
        seq: row.seq,
        kind: row.kind,
        name: row.name,
        scope: row.scope ?? [],
        label: row.label ?? null,
        started_at: row.at,
        duration_s: end?.duration ?? null,
        outcome: end?.outcome ?? null,
        usage: end?.usage ?? null,
        prompt:
          row.kind === "llm_query"
            ? { system: 1800, tools: 2400, history: 700 * at, new: 900 }
            : null,
      };
    });
    return { run, events, first_row: 1 };
  }

  #dryRun({ run }: FromUi["try_stop"]): [keyof ToUi, unknown] {
    const { dryRuns = [], dryRunProblem } = this.#script;
    if (dryRunProblem)
      return ["error", { code: "invalid_stop", message: dryRunProblem, run: null }];
    return ["stop_tried", { trials: run === null ? dryRuns : dryRuns.slice(0, 1) }];
  }

  #dryRunEditRule({ run }: FromUi["try_edit_rule"]): [keyof ToUi, unknown] {
    const { editRuleDryRuns: outcomes = [] } = this.#script;
    return ["edit_rule_tried", { outcomes: run === null ? outcomes : outcomes.slice(0, 1) }];
  }

  #store(): StoreInfo {
    const folder = "~/.local/share/agentstepper";
    const kept = { kind: "sqlite", durability: "durable", folder, size: 14_200_000 } as const;
    return { ...kept, trouble: null, ...this.#script.store };
  }

  #opened({ run: id }: FromUi["read_run"]): ToUi["run_opened"] {
    const story = this.#storyOf(id);
    if (!story) throw new Error("this scene has no run to open");
    const { run, rows, commits, notes } = story;
    return opened(run, { rows, commits, notes });
  }

  #storyOf(id: string): Story | undefined {
    const { story, read = [] } = this.#script;
    return read.find(({ run }) => run.id === id) ?? story;
  }

  #message({ run, message }: FromUi["get_message"]): ToUi["message"] {
    const body = this.#storyOf(run)?.bodies.get(message);
    if (!body) throw new Error(`this scene has no contents of ${message}`);
    return body;
  }

  #change({ run, commit, path }: FromUi["get_change"]): ToUi["change"] {
    const body = this.#script.story?.files.get(`${commit} ${path}`) ?? null;
    return { run, commit, path, body };
  }
}
