/** What went wrong, grouped by what errors have in common: of sessions, and of actions. */

import { Icon } from "../icons/icon";
import type { ErrorGroup, FailedAction } from "../protocol/runtime.gen";
import { Button } from "../view/button";
import { escapeInvisible, formatDate } from "../view/format";
import { Empty } from "../view/notices";
import type { FleetModel } from "./model";

/** Groups, and actions of one, that are shown: more are counted. */
const MAX_GROUPS = 40;
const MAX_ACTIONS = 20;

export function Errors({ model }: { model: FleetModel }) {
  const report = model.fleet.value?.report;
  if (!report) return <div class="as-Pane" />;
  const { errors, failed_actions: actions } = report;
  if (errors.length + actions.length === 0) {
    return (
      <Empty title="Nothing failed">
        <p>
          Sessions that ended as an error, and actions that could not be done, are listed here by
          what they have in common.
        </p>
      </Empty>
    );
  }
  return (
    <div class="as-Pane">
      <div class="as-Scroll as-FleetErrors">
        <Groups title="Sessions" groups={errors}>
          {(group) => <SessionGroup key={group.key} model={model} group={group} />}
        </Groups>
        <Groups title="Actions" groups={actions}>
          {(group) => <ActionGroup key={group.key} model={model} group={group} />}
        </Groups>
      </div>
    </div>
  );
}

interface GroupsProps {
  title: string;
  groups: readonly ErrorGroup[];
  children(group: ErrorGroup): preact.JSX.Element;
}

function Groups({ title, groups, children }: GroupsProps) {
  if (groups.length === 0) return null;
  const more = groups.length - MAX_GROUPS;
  return (
    <section aria-label={`Errors of ${title.toLowerCase()}`}>
      <h4 class="as-FleetErrors-title">{title}</h4>
      <ul>{groups.slice(0, MAX_GROUPS).map(children)}</ul>
      {more > 0 && <p class="as-FleetMore as-Muted as-Small">{`${more} rarer errors`}</p>}
    </section>
  );
}

interface GroupProps {
  model: FleetModel;
  group: ErrorGroup;
}

function SessionGroup({ model, group }: GroupProps) {
  const shown = model.filter.value.error === group.key;
  return (
    <li class="as-FleetError" data-current={shown}>
      <Message
        group={group}
        pressed={shown}
        hint={shown ? "Show all sessions" : "Show the sessions that ended so"}
        onClick={() => model.updateFilter({ status: "", error: shown ? null : group.key })}
      />
      <Button
        icon="retry"
        name={`Retry ${describe(group, "session")}`}
        hint="Let all of these sessions go on with the step that failed"
        disabledReason={model.readOnlyReason.value ?? model.commands.progress.value}
        onClick={() => void model.commands.retryGroup(group.key)}
      />
    </li>
  );
}

function ActionGroup({ model, group }: GroupProps) {
  const shown = model.openActions.value === group.key;
  const actions = shown ? (model.fleet.value?.report.actions ?? []) : [];
  const disabledReason = model.readOnlyReason.value ?? model.commands.progress.value;
  return (
    <li class="as-FleetError" data-current={shown}>
      <Message
        group={group}
        expanded={shown}
        hint={shown ? "List no actions" : "List the actions that failed so"}
        onClick={() => model.toggleActions(group.key)}
      />
      <Button
        icon="retry"
        name={`Retry ${describe(group, "action")}`}
        hint="Enqueue all of these actions again"
        disabledReason={disabledReason}
        onClick={() => void model.commands.remedyActions("retry", group.key)}
      />
      <Button
        icon="trash"
        name={`Discard ${describe(group, "action")}`}
        hint="Discard all of these actions: they stay in the store"
        disabledReason={disabledReason}
        onClick={() => void model.commands.remedyActions("discard", group.key)}
      />
      {shown && actions.length > 0 && (
        <ul class="as-FleetActions" aria-label="Failed actions">
          {actions.slice(0, MAX_ACTIONS).map((action) => (
            <ActionLine key={action.id} model={model} action={action} />
          ))}
          {group.count > MAX_ACTIONS && (
            <li class="as-FleetMore as-Muted as-Small">{`and ${group.count - MAX_ACTIONS} more`}</li>
          )}
        </ul>
      )}
    </li>
  );
}

/** How many, and what: for assistive technology. */
function describe({ count, message }: ErrorGroup, noun: string): string {
  const many = count === 1 ? `1 ${noun}` : `all ${count} ${noun}s`;
  return `${many}: ${escapeInvisible(message).slice(0, 60)}`;
}

interface MessageProps {
  group: ErrorGroup;
  hint: string;
  pressed?: boolean;
  expanded?: boolean;
  onClick(): void;
}

function Message({ group, hint, pressed, expanded, onClick }: MessageProps) {
  const message = escapeInvisible(group.message) || "No message";
  return (
    <button
      type="button"
      class="as-FleetError-message"
      aria-pressed={pressed}
      aria-expanded={expanded}
      title={`${message}\n\n${hint}`}
      onClick={onClick}
    >
      <b class="as-FleetError-count">{group.count.toLocaleString("en-US")}</b>
      <span class="as-FleetError-text">{message}</span>
      {expanded !== undefined && <Icon name={expanded ? "down" : "right"} small />}
    </button>
  );
}

/** What was asked for, in words. */
const ASKED: Record<FailedAction["kind"], string> = {
  agent_create: "Create",
  agent_pause: "Pause",
  agent_resume: "Resume",
  agent_interrupt: "Interrupt",
  agent_input: "Input",
  agent_destroy: "Destroy",
};

function ActionLine({ model, action }: { model: FleetModel; action: FailedAction }) {
  const name = escapeInvisible(action.agent_id);
  const disabledReason = model.readOnlyReason.value ?? model.commands.progress.value;
  return (
    <li
      class="as-FleetAction"
      title={escapeInvisible(`${action.error}\nSession ${action.session_id}`)}
    >
      <span>{ASKED[action.kind]}</span>
      <span class="as-Ellipsis">{name}</span>
      <span class="as-Spring" />
      <span class="as-Muted as-Small">{formatDate(action.created_at)}</span>
      <Button
        icon="retry"
        name={`Retry ${ASKED[action.kind]} of ${name}`}
        hint="Enqueue this action again"
        disabledReason={disabledReason}
        onClick={() => void model.commands.remedyAction("retry", action)}
      />
      <Button
        icon="trash"
        name={`Discard ${ASKED[action.kind]} of ${name}`}
        hint="Discard this action"
        disabledReason={disabledReason}
        onClick={() => void model.commands.remedyAction("discard", action)}
      />
    </li>
  );
}
