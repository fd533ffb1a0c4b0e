/** The form of an edit rule, and what the rule would have edited in the shown run. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { parse } from "../inspector/json/parse";
import { escapeGlob, problemOf } from "../model/breakpoints";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { EditRuleDraft } from "../model/edit_rule_draft";
import { type EditRule, PLACE_OPTIONS } from "../model/edit_rules";
import type { Problem as Refusal, Run } from "../model/model";
import type { EditRuleOutcome } from "../protocol/types.gen";
import { Button } from "../view/button";
import { Select } from "../view/fields";
import { formatCount } from "../view/format";
import { cx } from "../view/hooks";
import { dryRunInputs } from "./preview";
import { Problem, RuleEdits } from "./rule_edits";

interface FormProps {
  model: Debugger;
  draft: EditRuleDraft;
  onClose(): void;
}

export function RuleForm({ model, draft, onClose }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [refused, setRefused] = useState<Refusal | null>(null);
  const { editRules } = model.breakpoints;
  const known = editRules.all.value.some(({ id }) => id === draft.id);
  const rule = ruleOf(draft, model.run.value);
  const problem = typeof rule === "string" ? rule : null;
  const change = (fields: Partial<EditRuleDraft>) => {
    setRefused(null);
    editRules.draft.value = { ...draft, ...fields };
  };
  useLayoutEffect(() => {
    // The tab is shown by then: what is hidden can't take the focus.
    requestAnimationFrame(() => {
      form.current?.scrollIntoView?.({ block: "nearest" });
      form.current?.querySelector<HTMLElement>(".as-EditRuleForm-path")?.focus();
    });
  }, []);
  const disabledReason = readOnlyReason(model) ?? problem;
  const set = async () => {
    if (typeof rule === "string" || disabledReason !== null) return;
    const found = await editRules.set(rule);
    setRefused(found);
    if (!found) onClose();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter" && event.target instanceof HTMLInputElement) void set();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isReplace = draft.change === "replace";
  return (
    <form
      ref={form}
      class="as-EditRuleForm"
      aria-label={known ? "Change an edit rule" : "Add an edit rule"}
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={onKeyDown}
    >
      <div class="as-EditRuleForm-line">
        <Select
          label="Where"
          value={`${draft.kind} ${draft.side}`}
          options={PLACE_OPTIONS}
          onChange={(place) => {
            const [kind, side] = place.split(" ");
            change({ kind, side } as Partial<EditRuleDraft>);
          }}
        />
        <TextField
          label="Name of the tool or model"
          placeholder="any name"
          value={draft.name}
          onText={(name) => change({ name })}
        />
        <TextField
          class="as-EditRuleForm-path"
          label="Path of the value"
          placeholder="/Argument/limit"
          title="A JSON Pointer into what the row shows; empty is all of it"
          value={draft.path}
          onText={(path) => change({ path })}
        />
      </div>
      <div class="as-EditRuleForm-line">
        <Select
          label="Change"
          value={draft.change}
          options={[
            ["set", "set to"],
            ["replace", "replace pattern"],
          ]}
          onChange={(next) => change({ change: next })}
        />
        {isReplace ? (
          <>
            <TextField
              label="Pattern"
              placeholder="a regular expression"
              value={draft.pattern}
              onText={(pattern) => change({ pattern })}
            />
            <span class="as-Muted">by</span>
            <TextField
              label="Replacement"
              placeholder="nothing"
              value={draft.replacement}
              onText={(replacement) => change({ replacement })}
            />
          </>
        ) : (
          <TextField
            label="Value, as JSON"
            placeholder={'5, "text", {"a": 1}'}
            value={draft.value}
            onText={(value) => change({ value })}
          />
        )}
      </div>
      <div class="as-EditRuleForm-line">
        <label class="as-Inline as-Small">
          <input
            type="checkbox"
            checked={draft.once}
            onChange={({ currentTarget }) => change({ once: currentTarget.checked })}
          />{" "}
          Once a run
        </label>
        <label class="as-Inline as-Small">
          <input
            type="checkbox"
            checked={draft.program === "*"}
            onChange={({ currentTarget }) =>
              change({ program: currentTarget.checked ? "*" : null })
            }
          />{" "}
          All agents
        </label>
        <span class="as-Spring" />
        <Button hint="Discard the changes (Esc)" onClick={onClose}>
          Cancel
        </Button>
        <Button
          outline
          icon={known ? "check" : "plus"}
          hint={known ? "Save the rule (Enter)" : "Add the rule (Enter)"}
          disabledReason={disabledReason}
          onClick={() => void set()}
        >
          {known ? "Save rule" : "Add rule"}
        </Button>
      </div>
      {refused ? (
        <Problem text={refused.message} />
      ) : (
        <Preview model={model} rule={typeof rule === "string" ? null : rule} reason={problem} />
      )}
    </form>
  );
}

interface TextFieldProps {
  class?: string;
  label: string;
  placeholder: string;
  title?: string;
  value: string;
  onText(text: string): void;
}

function TextField({ class: own, label, onText, ...given }: TextFieldProps) {
  return (
    <input
      {...given}
      class={cx("as-Input as-mod-code", own)}
      aria-label={label}
      spellcheck={false}
      onInput={({ currentTarget }) => onText(currentTarget.value)}
    />
  );
}

/** Asked once the person pauses. */
const TYPING_PAUSE_MS = 300;

function Preview(props: { model: Debugger; rule: EditRule | null; reason: string | null }) {
  const { model, rule, reason } = props;
  const run = model.run.value;
  const { isVisible, rows } = dryRunInputs(model);
  const key = rule && run ? JSON.stringify([run.id, { ...rule, enabled: true }]) : "";
  const [found, setFound] = useState<{
    key: string;
    outcome: EditRuleOutcome | null;
    problem: Refusal | null;
  } | null>(null);
  useEffect(() => {
    if (!rule || !run || !isVisible) return;
    let isCurrent = true;
    const timer = setTimeout(() => {
      model.breakpoints.editRules.dryRun(rule, run.id).then(
        ([outcome = null]) => isCurrent && setFound({ key, outcome, problem: null }),
        (error: unknown) =>
          isCurrent && setFound({ key, outcome: null, problem: problemOf(error) }),
      );
    }, TYPING_PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [key, rows, isVisible]);
  if (reason !== null) return <p class="as-Muted as-Small">{reason}</p>;
  if (!run) return <p class="as-Muted as-Small">Open a run for a dry run of the rule.</p>;
  if (found?.key !== key) return <p class="as-Muted as-Small">Dry run in progress…</p>;
  if (found.problem) return <Problem text={found.problem.message} />;
  const { outcome } = found;
  return (
    <div class="as-EditRule-preview" role="status">
      <p class="as-Small">
        <Icon name={outcome?.total ? "check" : "system"} small /> Would have edited{" "}
        <b>{formatCount(outcome?.total ?? 0, "row")}</b> of this run.
      </p>
      {outcome && <RuleEdits model={model} outcome={outcome} />}
    </div>
  );
}

/** What a draft says as a rule, or what it lacks. */
export function ruleOf(draft: EditRuleDraft, run: Run | null): EditRule | string {
  const { id, kind, side, path, once, enabled, change, value, pattern, replacement } = draft;
  if (path !== "" && !path.startsWith("/")) return "The path begins with /, or is empty";
  if (kind === "tool_invocation" && side === "begin" && !/^\/Argument(\/|$)/.test(path))
    return "The path of a tool’s argument begins with /Argument";
  if (/\/$/.test(path)) return "Name the value: /Argument/limit";
  if (change === "set") {
    const parsed = parse(value);
    if (value.trim() === "") return "Enter the value, as JSON";
    if ("problem" in parsed) return `The value isn’t JSON: ${parsed.problem.words}`;
  } else if (pattern === "") return "Enter a pattern";
  return {
    id,
    kind,
    side,
    path,
    change: change === "set" ? { kind: "set", value } : { kind: "replace", pattern, replacement },
    program: draft.program ?? (run ? escapeGlob(run.program) || "*" : "*"),
    agent: draft.agent.trim() || null,
    name: draft.name.trim() || null,
    once,
    enabled,
  };
}
