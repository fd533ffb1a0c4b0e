/** Edit rules: a section of the Breakpoints tab, with the list, dry runs and their Python. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { problemOf } from "../model/breakpoints";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import { draftFromEditRule, newEditRule } from "../model/edit_rule_draft";
import { type EditRule, editRuleChange, editRulePlace, editRuleText } from "../model/edit_rules";
import type { Problem as Refusal } from "../model/model";
import { Button, CopyButton } from "../view/button";
import { consumeKey } from "../view/focus";
import { escapeInvisible, formatCount } from "../view/format";
import { cx } from "../view/hooks";
import { RuleForm } from "./edit_rule_form";
import { Problem, RuleEdits } from "./rule_edits";

interface SectionProps {
  model: Debugger;
  onProblem(problem: Refusal | null): void;
}

export function EditRulesSection({ model, onProblem }: SectionProps) {
  const section = useRef<HTMLElement>(null);
  const { editRules } = model.breakpoints;
  const rules = editRules.all.value;
  const draft = editRules.draft.value;
  const focusAdd = () => section.current?.querySelector<HTMLElement>(".as-EditRules-add")?.focus();
  const close = () => {
    editRules.draft.value = null;
    focusAdd();
  };
  return (
    <section ref={section} class="as-EditRules" aria-label="Edit rules">
      <div class="as-PaneBar as-BreakpointsBar">
        <b>Edit rules</b>
        <span class="as-Muted as-Ellipsis as-x-medium">
          Edits that are made wherever they match, also while a run continues.
        </span>
        <span class="as-Spring" />
        <Button
          icon="plus"
          class="as-EditRules-add"
          hint="Add an edit rule"
          disabledReason={readOnlyReason(model)}
          onClick={() => {
            editRules.draft.value = newEditRule();
          }}
        >
          Add rule
        </Button>
      </div>
      {rules.length > 0 && (
        <ul class="as-EditRules-list" aria-label="All edit rules">
          {rules.map((rule) => (
            <RuleRow
              key={rule.id}
              model={model}
              rule={rule}
              onProblem={onProblem}
              onDeleted={focusAdd}
            />
          ))}
        </ul>
      )}
      {draft && <RuleForm key={draft.id} model={model} draft={draft} onClose={close} />}
    </section>
  );
}

// ---- One rule of the list.

interface RowProps extends SectionProps {
  rule: EditRule;
  onDeleted(): void;
}

type Panel = "code" | "past" | "delete";

function RuleRow({ model, rule, onProblem, onDeleted }: RowProps) {
  const acts = useRef<HTMLSpanElement>(null);
  const [panel, setPanel] = useState<Panel | null>(null);
  const { editRules } = model.breakpoints;
  const disabledReason = readOnlyReason(model);
  const words = editRuleText(rule);
  const toggle = (next: Panel) => setPanel(panel === next ? null : next);
  const set = async (changed: EditRule) => onProblem(await editRules.set(changed));
  const keep = () => {
    setPanel(null);
    acts.current?.querySelector<HTMLElement>("button:last-child")?.focus();
  };
  const remove = async () => {
    const problem = await editRules.delete(rule.id);
    onProblem(problem);
    if (problem) return keep();
    if (editRules.draft.peek()?.id === rule.id) editRules.draft.value = null;
    onDeleted();
  };
  const isOn = rule.enabled && model.breakpoints.appliesToRun(rule);
  return (
    <li class={cx("as-EditRule", !isOn && "as-mod-off")} data-rule={rule.id}>
      <div class="as-EditRule-line">
        <button
          type="button"
          class="as-Switch"
          role="switch"
          aria-checked={rule.enabled}
          aria-disabled={disabledReason ? true : undefined}
          aria-label={words}
          title={disabledReason ?? `${rule.enabled ? "Disable" : "Enable"} the edit rule`}
          onClick={() => disabledReason === null && void set({ ...rule, enabled: !rule.enabled })}
        />
        <span class="as-EditRule-words" title={words}>
          <span class="as-Ellipsis">{editRulePlace(rule)}</span>
          <code class="as-Code as-Ellipsis">{editRuleChange(rule)}</code>
        </span>
        <span ref={acts} class="as-EditRule-acts">
          <Button
            hint="What the rule would have edited in past runs"
            pressed={panel === "past"}
            onClick={() => toggle("past")}
          >
            Dry run
          </Button>
          <Button
            hint="The rule as Python, for the agent’s own code"
            pressed={panel === "code"}
            onClick={() => toggle("code")}
          >
            Python
          </Button>
          <Button
            icon="pencil"
            hint={`Edit the rule: ${words}`}
            disabledReason={disabledReason}
            onClick={() => {
              editRules.draft.value = draftFromEditRule(rule);
            }}
          />
          <Button
            icon="trash"
            hint={`Delete the rule: ${words}`}
            disabledReason={disabledReason}
            onClick={() => toggle("delete")}
          />
        </span>
      </div>
      {panel === "code" && <Code model={model} rule={rule} />}
      {panel === "past" && <PastRuns model={model} rule={rule} />}
      {panel === "delete" && <Deletion onDelete={remove} onKeep={keep} />}
    </li>
  );
}

function Deletion({ onDelete, onKeep }: { onDelete(): Promise<void>; onKeep(): void }) {
  const keep = useRef<HTMLSpanElement>(null);
  const [sent, setSent] = useState(false);
  useLayoutEffect(() => keep.current?.querySelector("button")?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    onKeep();
    consumeKey(event);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys bubble up to here from what has the focus
    <div class="as-EditRule-panel as-EditRule-line" onKeyDown={onKeyDown}>
      <span class="as-Small">Delete the rule? This can’t be undone.</span>
      <span class="as-Spring" />
      <Button
        outline
        class="as-mod-danger"
        hint="Delete the rule"
        disabledReason={sent ? "The rule is being deleted" : null}
        onClick={() => {
          setSent(true);
          void onDelete();
        }}
      >
        Delete
      </Button>
      <span ref={keep}>
        <Button outline hint="Keep the rule (Esc)" onClick={onKeep}>
          Keep
        </Button>
      </span>
    </div>
  );
}

/** What the Core was asked about a rule: an answer, or why there is none. */
function useAsked<T>(ask: () => Promise<T>, key: string) {
  const [state, setState] = useState<{ key: string; value: T | null; problem: Refusal | null }>();
  useEffect(() => {
    let isCurrent = true;
    const store = (value: T | null, problem: Refusal | null) =>
      isCurrent && setState({ key, value, problem });
    ask().then(
      (value) => store(value, null),
      (error: unknown) => store(null, problemOf(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return state?.key === key ? state : { value: null, problem: null };
}

function Code({ model, rule }: { model: Debugger; rule: EditRule }) {
  const asked = useAsked(() => model.breakpoints.editRules.code(rule), JSON.stringify(rule));
  if (asked.problem) return <Problem text={asked.problem.message} />;
  return (
    <div class="as-EditRule-panel">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <div class="as-EditRule-code" role="group" tabIndex={0} aria-label="The rule as Python">
        <pre class="as-Code">{escapeInvisible(asked.value ?? "…")}</pre>
      </div>
      <div class="as-EditRule-line">
        <span class="as-Muted as-Small as-Spring">
          As a diff of your file: <code>list_edit_rules()[n].make_diff("agent.py")</code>
        </span>
        <CopyButton label="Copy the Python" text={() => asked.value ?? ""} showLabel />
      </div>
    </div>
  );
}

function PastRuns({ model, rule }: { model: Debugger; rule: EditRule }) {
  const key = JSON.stringify(rule);
  const { value, problem } = useAsked(() => model.breakpoints.editRules.dryRun(rule, null), key);
  if (problem) return <Problem text={problem.message} />;
  if (!value) return <p class="as-Muted as-Small as-EditRule-panel">Reading past runs…</p>;
  const edited = value.filter(({ total }) => total > 0);
  return (
    <div class="as-EditRule-panel">
      <p class="as-Muted as-Small" role="status">
        {value.length === 0
          ? "No run of these agents is recorded."
          : `Would have edited rows in ${edited.length} of the last ${formatCount(value.length, "run")}.`}
      </p>
      <ul>
        {edited.map((outcome) => (
          <li key={outcome.run}>
            <b class="as-Small">{runName(model, outcome.run)}</b>
            <RuleEdits model={model} outcome={outcome} />
          </li>
        ))}
      </ul>
    </div>
  );
}

const runName = (model: Debugger, id: string): string =>
  escapeInvisible(model.runs.value.find((run) => run.id === id)?.name ?? id);
