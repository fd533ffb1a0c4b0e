/** The fields of the bar: where a breakpoint hits, on what condition, how often, and what then. */

import { useId } from "preact/hooks";
import { escapeGlob, globLiteral, locationText } from "../model/breakpoints";
import type { Lane } from "../model/lanes";
import type { BreakpointRule, EventKind, Run, TimelineRow } from "../protocol/types.gen";
import { Select } from "../view/fields";
import { escapeInvisible } from "../view/format";
import type { BreakpointDraft, HitCountMode, WatchKind } from "./draft";

export interface FieldProps {
  draft: BreakpointDraft;
  onChange(fields: Partial<BreakpointDraft>): void;
}

type Location = Pick<BreakpointRule, "kind" | "side" | "on_error">;

const at = (kind: EventKind | null, side: BreakpointRule["side"], on_error = false): Location => ({
  kind,
  side,
  on_error,
});

const LOCATIONS: readonly Location[] = [
  at("tool_invocation", "begin"),
  at("tool_invocation", "end"),
  at("tool_invocation", "end", true),
  at("llm_query", "begin"),
  at("llm_query", "end"),
  at("llm_query", "end", true),
  at("custom", "begin"),
  at("custom", "end"),
  at("program_started", "begin"),
  at(null, null),
  at(null, "begin"),
  at(null, "end"),
  at(null, "end", true),
];

/** What fails has ended: its side says nothing. */
const keyOf = ({ kind, side, on_error }: Location): string =>
  `${kind ?? ""}/${on_error ? "fails" : (side ?? "")}`;

export function WhereField({ draft, onChange }: FieldProps) {
  const key = keyOf(draft);
  const known = LOCATIONS.some((each) => keyOf(each) === key);
  const places = known ? LOCATIONS : [...LOCATIONS, at(draft.kind, draft.side, draft.on_error)];
  return (
    <Select
      label="Where"
      value={key}
      options={places.map((each) => [keyOf(each), locationText(each)] as const)}
      onChange={(chosen) => onChange(places.find((each) => keyOf(each) === chosen) ?? {})}
    />
  );
}

const NAMES: Partial<Record<EventKind, { label: string; any: string }>> = {
  tool_invocation: { label: "Tool", any: "any tool" },
  llm_query: { label: "Model", any: "any model" },
  custom: { label: "Type of event", any: "any type" },
};

interface NameProps extends FieldProps {
  rows: readonly TimelineRow[];
}

/** The name of the tool, the model or the event's type. */
export function NameField({ draft, rows, onChange }: NameProps) {
  const { label, any } = (draft.kind && NAMES[draft.kind]) ?? { label: "Name", any: "any name" };
  return (
    <PatternField
      label={label}
      any={any}
      example="read_*"
      value={draft.name}
      offered={namesOf(rows, draft.kind)}
      onText={(name) => onChange({ name })}
    />
  );
}

interface AgentProps extends FieldProps {
  lanes: readonly Lane[];
}

/** The name of an agent in the program. */
export function AgentField({ draft, lanes, onChange }: AgentProps) {
  return (
    <PatternField
      label="Agent"
      any="any agent"
      example="research*"
      value={draft.agent}
      offered={[...new Set(lanes.map(({ name }) => name))].slice(0, MOST_NAMES)}
      onText={(agent) => onChange({ agent })}
    />
  );
}

interface PatternProps {
  label: string;
  /** What stands there while it is empty. */
  any: string;
  /** A pattern. */
  example: string;
  value: string;
  /** The names that the run has. */
  offered: readonly string[];
  onText(text: string): void;
}

/** A name or a pattern of names; those that the run has are offered. */
function PatternField({ label, any, example, value, offered, onText }: PatternProps) {
  const list = useId();
  return (
    <>
      <input
        class="as-Input as-mod-code as-BreakpointBar-name"
        type="text"
        list={list}
        aria-label={label}
        placeholder={any}
        title={`A name, or a pattern such as ${example}`}
        spellcheck={false}
        autocomplete="off"
        maxLength={1000}
        value={value}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      <datalist id={list}>
        {offered.map((name) => (
          <option key={name} value={escapeGlob(name)} />
        ))}
      </datalist>
    </>
  );
}

const MOST_NAMES = 50;

/** The names that rows of a kind have, each once. */
export function namesOf(rows: readonly TimelineRow[], kind: EventKind | null): string[] {
  const fit = rows.filter((row) => row.side !== null && (kind === null || row.kind === kind));
  return [...new Set(fit.flatMap(({ name }) => name ?? []))].slice(0, MOST_NAMES);
}

interface ConditionProps extends FieldProps {
  /** What is wrong with it; null where nothing is known to be. */
  problem: string | null;
}

/** The longest that protocol/breakpoint_rules.py takes. */
const LONGEST = 4096;

export function ConditionField({ draft, problem, onChange }: ConditionProps) {
  const problemId = useId();
  return (
    <span class="as-BreakpointBar-where">
      <input
        class="as-Input as-mod-code as-BreakpointBar-condition"
        type="text"
        aria-label="Condition"
        aria-invalid={problem !== null}
        aria-describedby={problem === null ? undefined : problemId}
        placeholder={'args.path.startswith("src/")'}
        title="An expression; empty is always"
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        maxLength={LONGEST}
        value={draft.condition}
        onInput={({ currentTarget }) => onChange({ condition: currentTarget.value })}
      />
      {problem !== null && (
        <span id={problemId} class="as-Bad as-Small as-BreakpointBar-problem" role="alert">
          {escapeInvisible(problem)}
        </span>
      )}
    </span>
  );
}

const WATCHES: [BreakpointDraft["watch"], string, string][] = [
  ["", "and nothing more", ""],
  ["tokens", "and tokens over", "50,000"],
  ["cost", "and cost over $", "0.50"],
  ["repeated", "and same action in a row, times", "3"],
  ["recurring", "and same action in all, times", "3"],
  ["touched", "and path is changed", "src/*.py"],
];

export function WatchField({ draft, onChange }: FieldProps) {
  const example = WATCHES.find(([watch]) => watch === draft.watch)?.[2] ?? "";
  return (
    <>
      <Select
        class="as-BreakpointBar-watch"
        label="Watch"
        value={draft.watch}
        options={WATCHES.map(([watch, words]) => [watch, words] as const)}
        onChange={(watch) => onChange({ watch, amount: "" })}
      />
      {draft.watch !== "" && (
        <input
          class="as-Input as-BreakpointBar-amount"
          type="text"
          aria-label={AMOUNTS[draft.watch]}
          placeholder={example}
          spellcheck={false}
          autocomplete="off"
          value={draft.amount}
          onInput={({ currentTarget }) => onChange({ amount: currentTarget.value })}
        />
      )}
    </>
  );
}

const AMOUNTS: Record<WatchKind, string> = {
  tokens: "Tokens",
  cost: "US dollars",
  repeated: "Times in a row",
  recurring: "Times in all",
  touched: "Path",
};

const HIT_COUNT_MODES: [HitCountMode, string][] = [
  ["every", "every time"],
  ["once", "once a run"],
  ["from", "from hit"],
  ["at", "only at hit"],
];

export function HitCountField({ draft, onChange }: FieldProps) {
  return (
    <>
      <Select
        label="How often"
        value={draft.hitCountMode}
        options={HIT_COUNT_MODES}
        onChange={(often) => onChange({ hitCountMode: often })}
      />
      {(draft.hitCountMode === "from" || draft.hitCountMode === "at") && (
        <input
          class="as-Input as-BreakpointBar-count"
          type="text"
          inputMode="numeric"
          aria-label="Hit count"
          value={draft.hitCount}
          onInput={({ currentTarget }) => onChange({ hitCount: currentTarget.value })}
        />
      )}
    </>
  );
}

const REACTIONS = [
  ["halt", "Halt"],
  ["log", "Log message"],
] as const;

export function ReactionField({ draft, onChange }: FieldProps) {
  return (
    <Select
      label="Then"
      title="Log message marks the event, and the run continues"
      value={draft.then}
      options={REACTIONS}
      onChange={(then) => onChange({ then })}
    />
  );
}

interface ScopeProps extends FieldProps {
  run: Run | null;
}

/** Whose agents: those of the shown run's program, all, or as an edited breakpoint has it. */
export function ScopeField({ draft, run, onChange }: ScopeProps) {
  const own = run ? escapeGlob(run.program) : "*";
  const value = draft.program ?? own;
  const programs = [...new Set([own, "*", value])].filter(Boolean);
  return (
    <Select
      class="as-BreakpointBar-scope"
      label="For which agents"
      value={value}
      options={programs.map((program) => [program, scopeText(program)] as const)}
      onChange={(program) => onChange({ program })}
    />
  );
}

function scopeText(program: string): string {
  return program === "*"
    ? "all agents"
    : `only ${escapeInvisible(globLiteral(program) ?? program)}`;
}
