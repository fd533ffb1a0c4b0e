/** What stands in the form of an edit rule, and how it begins. */
import type { Signal } from "@preact/signals";
import type { TimelineRow } from "../protocol/types.gen";
import type { EditRule, EditRules } from "./edit_rules";
import type { Tab } from "./model";

/** An edit rule as its fields hold it: it needn't make sense yet. */
export interface EditRuleDraft extends Pick<EditRule, "id" | "kind" | "side" | "path" | "enabled"> {
  /** Null: agents of the shown run's program. */
  program: string | null;
  /** "" is any. */
  name: string;
  agent: string;
  change: "set" | "replace";
  /** JSON text. */
  value: string;
  pattern: string;
  replacement: string;
  once: boolean;
}

/** Begin a rule that edits where this row is. */
export function addEditRuleLike(
  model: { tab: Signal<Tab>; breakpoints: { editRules: EditRules } },
  row: TimelineRow,
  change: Partial<EditRuleDraft>,
): void {
  const { kind, side, name, label } = row;
  model.breakpoints.editRules.draft.value = newEditRule({
    kind,
    ...(side && { side }),
    name: name ?? "",
    agent: label?.name ?? "",
    ...change,
  });
  model.tab.value = "breakpoints";
}

const ID_BYTES = 8;

export function newEditRule(fields: Partial<EditRuleDraft> = {}): EditRuleDraft {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  return {
    id: `edit-rule-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`,
    program: null,
    kind: "tool_invocation",
    side: "begin",
    name: "",
    agent: "",
    path: "/Argument/",
    change: "set",
    value: "",
    pattern: "",
    replacement: "",
    once: false,
    enabled: true,
    ...fields,
  };
}

/** A rule's fields, to change it. */
export function draftFromEditRule(rule: EditRule): EditRuleDraft {
  const { change, name, agent, ...rest } = rule;
  return {
    ...newEditRule(),
    ...rest,
    name: name ?? "",
    agent: agent ?? "",
    change: change.kind,
    ...(change.kind === "set" ? { value: change.value } : change),
  } as EditRuleDraft;
}
