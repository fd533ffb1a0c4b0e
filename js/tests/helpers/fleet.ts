/** A Core with many agents, played: it counts, filters and pages as the real one does. */
import type {
  ContinueRuns,
  FailedAction,
  FleetQuery,
  FleetSession,
  FleetSummary,
  HaltedRun,
} from "../../src/protocol/runtime.gen";
import { settled } from "./peer";
import { BEGAN } from "./runtime";
import { FakeService } from "./service";

export function aFleetSession(id: string, fields: Partial<FleetSession> = {}): FleetSession {
  return {
    agent_id: "joker",
    session_id: id,
    status: "running",
    moniker: "joke",
    iteration: 3,
    run_id: `run-${id}`,
    words: `Words of ${id}`,
    last_error: null,
    attempt: 0,
    next_try_at: null,
    losses: [],
    is_pausing: false,
    created_at: BEGAN,
    updated_at: BEGAN + 9,
    ...fields,
  };
}

export function aHaltedRun(id: string, fields: Partial<HaltedRun> = {}): HaltedRun {
  return {
    run_id: id,
    name: `Run #1 of ${id}`,
    program: id,
    halted_at: BEGAN,
    kind: "tool_invocation",
    side: "begin",
    where: "tool call run_tests (row 12)",
    summary: 'run_tests(path="src")',
    pending: 1,
    is_approval: false,
    breakpoints: 1,
    agent_id: null,
    session_id: null,
    ...fields,
  };
}

export function aFailedAction(id: string, fields: Partial<FailedAction> = {}): FailedAction {
  return {
    id,
    kind: "agent_input",
    agent_id: "joker",
    session_id: "s",
    error: "The session has ended.",
    created_at: BEGAN,
    ...fields,
  };
}

export interface FleetKept {
  sessions?: FleetSession[];
  halted?: HaltedRun[];
  actions?: FailedAction[];
  going?: number;
  /** What its clock says. */
  at?: number;
  figures?: Partial<Pick<FleetSummary, "steps_per_minute" | "usage" | "workers">>;
  /** What the login may do: all, or only watch. */
  control?: boolean;
  /** What is changed is refused with this. */
  refuses?: { code: string; message: string };
  /** What the link does: stand unless told otherwise; what breaks doesn't come back. */
  link?: "stands" | "refused" | "breaks";
}

/** As `make_error_key` in protocol/fleet.py, without ids. */
export const errorKey = (message: string) => message.split("\n")[0]?.replace(/\d+/g, "…") ?? "";

export class FakeFleet extends FakeService {
  sessions: FleetSession[];
  halted: HaltedRun[];
  actions: FailedAction[];
  going: number;
  at: number;
  /** Asked for and answered, of what changes something. */
  readonly done: [string, Record<string, unknown>][] = [];
  /** What was asked of `fleet`. */
  readonly queries: FleetQuery[] = [];
  refuses: FleetKept["refuses"];
  /** What is answered only when a test says so. */
  holds = false;
  readonly #figures: FleetKept["figures"];
  readonly #link: FleetKept["link"];
  #held: (() => void)[] = [];

  constructor(kept: FleetKept = {}) {
    super();
    this.sessions = [...(kept.sessions ?? [])];
    this.halted = [...(kept.halted ?? [])];
    this.actions = [...(kept.actions ?? [])];
    this.going = kept.going ?? 1;
    this.at = kept.at ?? BEGAN + 60;
    this.control = kept.control ?? true;
    this.refuses = kept.refuses;
    this.#figures = kept.figures;
    this.#link = kept.link ?? "stands";
  }

  protected begin(): void {
    this.#held = [];
  }

  protected override link(events: Parameters<FakeService["open"]>[0]): void {
    const breaks = this.#link === "breaks" && this.links === 1;
    if (this.#link === "stands" || breaks) events.opened();
    if (this.#link === "refused") events.closed({ code: 1006, reason: "", opened: false });
  }

  explain = async () =>
    this.#link === "refused" ? "This login has run out. Log in to Jupyter, then try again." : null;

  protected cancel(): void {}

  /** Answer what was held back. */
  async release(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    for (const answer of held) answer();
    await settled();
  }

  protected request(id: string, method: string, params: Record<string, unknown>): void {
    const answer = () => this.#answerRequest(id, method, params);
    if (this.holds) this.#held.push(answer);
    else answer();
  }

  #answerRequest(id: string, method: string, params: Record<string, unknown>): void {
    if (method === "fleet") {
      this.queries.push(params as FleetQuery);
      this.say("result", { value: this.#fleet(params as FleetQuery) }, id);
      return;
    }
    if (this.refuses) {
      this.say("failed", this.refuses, id);
      return;
    }
    this.done.push([method, params]);
    const change = CHANGES[method];
    if (!change) throw new Error(`nobody plays ${method}`);
    this.say("result", { value: change(this, params) }, id);
  }

  #fleet(query: FleetQuery): FleetSummary {
    const { offset = 0, limit = 0 } = query;
    const matching = limit === 0 ? [] : this.sessions.filter((each) => matches(each, query));
    const failed = this.sessions.filter(({ status }) => isFailed(status));
    return {
      at: this.at,
      report: {
        counts: count(this.sessions),
        errors: group(failed.map(({ last_error }) => last_error ?? "")),
        failed_actions: group(this.actions.map(({ error }) => error)),
        sessions: matching.slice(offset, offset + limit),
        matching: matching.length,
        actions: this.actions
          .filter(({ error }) => errorKey(error) === query.failed_action)
          .slice(0, 200),
        halted: [],
      },
      inbox: this.halted.slice(0, 200),
      halted: this.halted.length,
      going: this.going,
      steps_per_minute: 1240,
      usage: { input_tokens: 8_400_000, output_tokens: 120_000, cost: 12.3, estimated: false },
      workers: 4,
      ...this.#figures,
    };
  }
}

const isFailed = (status: FleetSession["status"]) => status === "error" || status === "quarantined";

function matches(each: FleetSession, query: FleetQuery): boolean {
  const { status = [], moniker, text, error, created_until } = query;
  if (status.length > 0 && !status.includes(each.status)) return false;
  if (moniker && each.moniker !== moniker) return false;
  if (error !== undefined && error !== null) {
    if (!isFailed(each.status) || errorKey(each.last_error ?? "") !== error) return false;
  }
  if (created_until && each.created_at > created_until) return false;
  const fields = [each.agent_id, each.session_id, each.moniker, each.last_error ?? ""];
  return !text || fields.some((field) => field.toLowerCase().includes(text.toLowerCase()));
}

function count(sessions: readonly FleetSession[]): FleetSummary["report"]["counts"] {
  const counts = new Map<string, FleetSummary["report"]["counts"][number]>();
  for (const { status, moniker } of sessions) {
    const key = `${moniker} ${status}`;
    const before = counts.get(key)?.count ?? 0;
    counts.set(key, { status, moniker, count: before + 1 });
  }
  return [...counts.values()];
}

function group(messages: readonly string[]): FleetSummary["report"]["errors"] {
  const groups = new Map<string, FleetSummary["report"]["errors"][number]>();
  for (const message of messages) {
    const key = errorKey(message);
    const before = groups.get(key);
    groups.set(key, { key, message: before?.message ?? message, count: (before?.count ?? 0) + 1 });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}

type Change = (fleet: FakeFleet, params: Record<string, unknown>) => unknown;

const CHANGES: Record<string, Change> = {
  halt_runs: (fleet) => ({ changed: fleet.going, approvals: 0 }),
  continue_runs: (fleet, params) => {
    const { runs, but = [], halted_until } = params as ContinueRuns;
    const meant = fleet.halted.filter(
      ({ run_id, halted_at }) =>
        !but.includes(run_id) &&
        (!runs || runs.includes(run_id)) &&
        (!halted_until || (halted_at ?? 0) <= halted_until),
    );
    const going = meant.filter(({ is_approval }) => !is_approval);
    fleet.halted = fleet.halted.filter((run) => !going.includes(run));
    return { changed: going.length, approvals: meant.length - going.length };
  },
  retry: (fleet, { session_id }) => {
    fleet.sessions = fleet.sessions.map((each) =>
      each.session_id === session_id ? { ...each, status: "running", last_error: null } : each,
    );
    return {};
  },
  retry_action: (fleet, { id }) => {
    fleet.actions = fleet.actions.filter((each) => each.id !== id);
    return { actions: [] };
  },
  discard_action: (fleet, { id }) => {
    fleet.actions = fleet.actions.filter((each) => each.id !== id);
    return { actions: [] };
  },
};
