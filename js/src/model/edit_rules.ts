/** Edit rules: the Core's, mirrored, the one that is being made, and how they are said. */
import { signal } from "@preact/signals";
import type { Client } from "../client/core_client";
import type { EditRuleDefinition, EditRuleOutcome, FromUi, ToUi } from "../protocol/types.gen";
import { escapeInvisible } from "../view/format";
import { problemOf } from "./breakpoints";
import type { EditRuleDraft } from "./edit_rule_draft";
import type { Problem } from "./model";

export type EditRule = EditRuleDefinition;

/** A push that is about edit rules. */
export type EditRulePush = {
  [P in "edit_rule" | "edit_rule_gone"]: { type: P; body: ToUi[P] };
}["edit_rule" | "edit_rule_gone"];

export class EditRules {
  /** All rules, in the order in which they were made. */
  readonly all = signal<readonly EditRule[]>([]);
  /** What stands in the form; null: it is closed. */
  readonly draft = signal<EditRuleDraft | null>(null);

  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  applyPush({ type, body }: EditRulePush): void {
    if (type === "edit_rule") this.#store(body.rule);
    else this.#remove(body.rule);
  }

  /** Set a rule. Tells what was wrong with it; null where it is set. */
  set(rule: EditRule): Promise<Problem | null> {
    return this.#run("set_edit_rule", { rule }, () => this.#store(rule));
  }

  delete(id: string): Promise<Problem | null> {
    return this.#run("delete_edit_rule", { rule: id }, () => this.#remove(id));
  }

  /**
   * What a rule would have edited, newest run first. Rejects with `CommandError` or `LinkLost`.
   *
   * @param run Null: in the last runs of agents that it is for.
   */
  async dryRun(rule: EditRule, run: string | null): Promise<readonly EditRuleOutcome[]> {
    const asked = { rule: { ...rule, enabled: true }, run };
    return (await this.#client.request("try_edit_rule", asked)).outcomes;
  }

  /** The rule as Python. Rejects as `dryRun`. */
  async code(rule: EditRule): Promise<string> {
    return (await this.#client.request("export_edit_rule", { rule })).code;
  }

  /** The words of rules by their ids: what a row is said to have been edited by. */
  describe(ids: readonly string[]): string {
    const found = ids.map((id) => this.all.value.find((rule) => rule.id === id));
    return found.map((rule) => (rule ? `“${editRuleText(rule)}”` : "(deleted)")).join(", ");
  }

  /** The Core pushes it as well; shown at once, nothing flickers for a frame. */
  async #run<C extends "set_edit_rule" | "delete_edit_rule">(
    command: C,
    body: FromUi[C],
    done: () => void,
  ): Promise<Problem | null> {
    try {
      await this.#client.request(command, body, done);
      return null;
    } catch (error) {
      return problemOf(error);
    }
  }

  #store(rule: EditRule): void {
    const all = this.all.peek();
    const at = all.findIndex(({ id }) => id === rule.id);
    this.all.value = at < 0 ? [...all, rule] : all.with(at, rule);
  }

  #remove(id: string): void {
    this.all.value = this.all.peek().filter((rule) => rule.id !== id);
  }
}

const PLACES: Partial<Record<EditRule["kind"], [string, string]>> = {
  tool_invocation: ["Before a tool", "After a tool"],
  llm_query: ["Before an LLM query", "After an LLM query"],
  custom: ["Before a custom event", "After a custom event"],
};

/** Where a rule edits: each place by its kind and side. */
export const PLACE_OPTIONS: readonly (readonly [string, string])[] = Object.entries(PLACES).flatMap(
  ([kind, [begin, end]]) => [[`${kind} begin`, begin] as const, [`${kind} end`, end] as const],
);

/** A rule in one line: "Before tool search, set /Argument/limit to 5". */
export function editRuleText(rule: EditRule): string {
  return `${editRulePlace(rule)}, ${editRuleChange(rule)}`;
}

export function editRulePlace({ kind, side, name, agent }: EditRule): string {
  const place = PLACES[kind]?.[side === "begin" ? 0 : 1] ?? kind;
  const what = name === null ? place : place.replace(/ an? /, " ");
  const who = agent === null ? "" : ` by ${escapeInvisible(agent)}`;
  return `${what}${name === null ? "" : ` ${escapeInvisible(name)}`}${who}`;
}

export function editRuleChange({ path, change, once }: EditRule): string {
  const place = path === "" ? "all of it" : escapeInvisible(path);
  const words =
    change.kind === "set"
      ? `set ${place} to ${escapeInvisible(change.value)}`
      : `in ${place} replace ${escapeInvisible(change.pattern)} by ${escapeInvisible(change.replacement) || "nothing"}`;
  return once ? `${words}, once` : words;
}
