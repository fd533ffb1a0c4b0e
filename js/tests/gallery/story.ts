/** What an agent did, told in calls: rows, their contents and commits as a Core would send them. */
import type {
  ApprovalPrompt,
  ChangeKind,
  Commit,
  FileBody,
  FileChange,
  MessageBody,
  RowNote,
  Run,
  TimelineRow,
  Usage,
} from "../../src/protocol/types.gen";
import { aBody, aCommit, aNote, aRow, aRun } from "../helpers/values";

/** When all stories begin, in POSIX seconds: pictures of them don't change with the day. */
export const BEGIN = Date.UTC(2026, 2, 2, 14, 2, 11) / 1000;

export interface File extends Partial<FileChange> {
  path: string;
  kind?: ChangeKind;
  before?: string;
  after?: string;
}

interface Call {
  name?: string;
  depth?: number;
  /** In seconds. */
  takes?: number;
  edit?: unknown;
  fails?: { type: string; message: string };
  /** Of the failure. */
  traceback?: string;
  /** What it changed in the workspace. */
  files?: File[];
}

export class Story {
  readonly rows: TimelineRow[] = [];
  readonly commits: Commit[] = [];
  readonly bodies = new Map<string, MessageBody>();
  readonly files = new Map<string, FileBody>();
  readonly notes: RowNote[] = [];
  run: Run;
  #at = BEGIN;
  #events = 0;

  constructor(name = "Run #3 of fix-tests", fields: Partial<Run> = {}) {
    this.run = aRun("a", {
      name,
      program: "fix_tests.py",
      started_at: BEGIN,
      workspace: "~/projects/shop",
      ...fields,
    });
  }

  begins(): this {
    return this.#row({
      kind: "program_started",
      side: null,
      source: "system",
      target: "agent",
      summary: "Agent execution started",
    });
  }

  /** The last message, as the Core words it. */
  ends(summary = "Agent execution finished", fields: Partial<TimelineRow> = {}): this {
    const last = { kind: "program_finished", source: "agent", target: "system" } as const;
    return this.#row({ ...last, side: null, summary, ...fields });
  }

  says(summary: string, data: unknown = summary): this {
    return this.#row({ kind: "debug_message", side: null, target: "system", summary }, data);
  }

  /** The first half of a query. */
  asks(
    summary: string,
    prompt: unknown,
    { name = "gpt-5-mini", depth = 0, edit }: Call = {},
  ): this {
    this.#events += 1;
    return this.#row({ kind: "llm_query", side: "begin", summary, name, depth }, prompt, edit);
  }

  /** The second half. */
  answers(summary: string, answer: unknown, call: Call = {}): this {
    const { name = "gpt-5-mini", depth = 0, takes = 1.84, edit } = call;
    return this.#row(
      {
        kind: "llm_query",
        side: "end",
        source: "llm",
        target: "agent",
        summary,
        name,
        depth,
        duration: takes,
        usage: this.#uses(1100 + 450 * this.#events, 96),
      },
      answer,
      edit,
    );
  }

  calls(name: string, argument: unknown, { depth = 0, edit }: Call = {}): this {
    this.#events += 1;
    const words = Object.values(argument as object).map((one) => JSON.stringify(one));
    return this.#row(
      {
        kind: "tool_invocation",
        side: "begin",
        target: "tools",
        summary: `${name}(${words.join(", ")})`,
        name,
        depth,
      },
      { Tool: name, Argument: argument },
      edit,
    );
  }

  returns(name: string, summary: string, result: unknown = summary, call: Call = {}): this {
    const { depth = 0, takes = 0.012, fails, traceback = "", files = [], edit } = call;
    if (files.length > 0) this.committed("", files, { snapshot: true, event: this.#event() });
    this.#row(
      {
        kind: "tool_invocation",
        side: "end",
        source: "tools",
        target: "agent",
        summary,
        name,
        depth,
        duration: takes,
        outcome: fails ? "error" : "ok",
        failure: fails ?? null,
      },
      result,
      edit,
    );
    this.said({ traceback });
    return this;
  }

  /** The first half of an event of a type that the agent named. */
  does(name: string, data: object): this {
    this.#events += 1;
    const words = Object.values(data).map((one) => JSON.stringify(one));
    const summary = `${name}(${words.join(", ")})`;
    return this.#row({ kind: "custom", side: "begin", target: "tools", summary, name }, data);
  }

  /** The second half. */
  gave(name: string, summary: string, data: unknown): this {
    const told = { kind: "custom", side: "end", source: "tools", target: "agent" } as const;
    return this.#row({ ...told, summary, name, duration: 0.31 }, data);
  }

  /** A commit; without further fields a named one. */
  committed(title: string, files: File[], fields: Partial<Commit> = {}): this {
    const id = (0xa3f21b7 + this.commits.length * 0x1f3d5b9).toString(16).padEnd(40, "0");
    const changes = files.map((file) => this.#change(id, file));
    const seq = this.rows.length;
    this.commits.push(aCommit(id, { at: this.#at, title, seq, changes, ...fields }));
    return this;
  }

  /** The last row is an agent's, of an event of its own where others run at the same time. */
  by(whose: Pick<TimelineRow, "scope" | "label">, event?: string): this {
    return this.changed(event === undefined ? whose : { ...whose, event });
  }

  /** A person wrote beside the last row. */
  noted(text: string): this {
    this.notes.push(aNote(this.rows.at(-1)?.id ?? "", text, { run: this.run.id, at: this.#at }));
    return this;
  }

  /** The last row asks for an approval. */
  wants(risk: ApprovalPrompt["risk"], why: string, rule: string | null = null): this {
    const last = this.rows.at(-1);
    this.said({ approval: { risk, why, rule } });
    return this.changed({ approval: true, summary: `Asks: ${last?.summary}` });
  }

  /** A person approved what the last row asks. */
  approved(always = false): this {
    const last = this.rows.at(-1);
    this.said({ always });
    return this.changed({ answer: "resume", summary: last?.summary.replace("Asks: ", "") ?? "" });
  }

  /** A person denied the last row. */
  denied(reason: string): this {
    this.said({ reason });
    return this.changed({ answer: "deny", reason, summary: `Denied: ${reason}` });
  }

  /** What effect checks say of the last row. */
  marked(effects: NonNullable<TimelineRow["effects"]>): this {
    return this.changed({ effects });
  }

  /** What the model said beside the calls of the last row. */
  beside(said: string): this {
    return this.changed({ said });
  }

  /** Breakpoints hit at the last row. */
  hit(...breakpoints: string[]): this {
    return this.changed({ stops: breakpoints });
  }

  /** The condition of a breakpoint failed at the last row. */
  stumbled(stop_error: string): this {
    return this.changed({ stop_error });
  }

  /** The agent waits at the last row, and maybe at some before it. */
  halted(fields: Partial<Run> = {}, rows = 1): this {
    const waiting = this.rows.slice(-rows);
    const waits = waiting.map((row) => ({ ...row, pending: true, answer: null }));
    this.rows.splice(-rows, rows, ...waits);
    const pending = waiting.map(({ id }) => id);
    return this.is({ state: "halted", agent_state: "halted", pending, ...fields });
  }

  ended(ending: NonNullable<Run["ending"]>, fields: Partial<Run> = {}): this {
    const ended_at = this.#at;
    return this.is({ state: "idle", agent_state: "finished", ending, ended_at, ...fields });
  }

  is(fields: Partial<Run>): this {
    const counts = { rows: this.rows.length, commits: this.commits.length };
    this.run = { ...this.run, ...counts, ...fields };
    return this;
  }

  /** The last row is otherwise. */
  changed(fields: Partial<TimelineRow>): this {
    const last = this.rows.at(-1);
    if (last) this.rows[this.rows.length - 1] = { ...last, ...fields };
    return this;
  }

  /** What is told of the last row with its contents. */
  said(fields: Partial<MessageBody>): this {
    const id = this.rows.at(-1)?.id ?? "";
    this.bodies.set(id, { ...(this.bodies.get(id) ?? aBody(id)), ...fields });
    return this;
  }

  /** The tokens of a query, at prices that a person set; they count for the run. */
  #uses(input: number, output: number): Usage {
    const usage = {
      input_tokens: input,
      output_tokens: output,
      cost: (input * 0.25 + output * 2) / 1e6,
      estimated: true,
    };
    const sum = this.run.usage;
    this.run = {
      ...this.run,
      usage: {
        input_tokens: input + (sum?.input_tokens ?? 0),
        output_tokens: output + (sum?.output_tokens ?? 0),
        cost: usage.cost + (sum?.cost ?? 0),
        estimated: true,
      },
    };
    return usage;
  }

  #event(): string {
    return `e${this.#events}`;
  }

  #row(fields: Partial<TimelineRow>, data: unknown = null, edit?: unknown): this {
    const seq = this.rows.length + 1;
    const id = `r${seq}`;
    const json = JSON.stringify(data);
    const event = fields.side ? this.#event() : `${this.#event()}.${seq}`;
    this.#at += fields.duration ?? 0.4;
    const own = { id, event, at: this.#at, size: json.length, edited: edit !== undefined };
    this.rows.push(aRow(seq, { ...own, ...fields }));
    const edited = edit === undefined ? null : JSON.stringify(edit);
    this.bodies.set(id, aBody(id, { data: json, edit: edited }));
    return this;
  }

  #change(commit: string, { before = "", after = "", ...file }: File): FileChange {
    const lines = (text: string) => text.split("\n").filter(Boolean);
    const known = (text: string, one: string) => lines(text).includes(one);
    this.files.set(`${commit} ${file.path}`, {
      diff: "",
      content: after,
      previous_content: before,
    });
    return {
      kind: "changed",
      previous_path: null,
      added: lines(after).filter((one) => !known(before, one)).length,
      removed: lines(before).filter((one) => !known(after, one)).length,
      binary: false,
      size: null,
      digest: null,
      body: null,
      ...file,
    };
  }
}
