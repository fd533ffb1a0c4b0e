/** One session under the list: why it failed, which workers its step ended, and what can be done. */

import { useRef } from "preact/hooks";
import type { FleetSession, StepLoss } from "../protocol/runtime.gen";
import { Button } from "../view/button";
import { consumeKey } from "../view/focus";
import { escapeInvisible, formatClock, formatCount } from "../view/format";
import { StateMark } from "../view/notices";
import type { FleetModel } from "./model";
import { canRetry, fleetStatusOf } from "./status";

interface StoryProps {
  model: FleetModel;
  session: FleetSession;
  onOpen(session: FleetSession): void;
}

export function Story({ model, session, onOpen }: StoryProps) {
  const status = fleetStatusOf(session);
  const { words, explanation } = status;
  const error = session.last_error && escapeInvisible(session.last_error);
  const story = useRef<HTMLElement>(null);
  const close = () => {
    const list = story.current?.closest(".as-SessList");
    list?.querySelector<HTMLElement>('.as-SessRow[tabindex="0"]')?.focus();
    model.selected.value = null;
  };
  // As in the list above.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") close();
    else if (event.key === "o") onOpen(session);
    else return;
    consumeKey(event);
  };
  return (
    <section
      ref={story}
      class="as-FleetStory"
      aria-label={`Session of ${escapeInvisible(session.agent_id)}`}
      onKeyDown={onKeyDown}
    >
      <div class="as-FleetStory-head">
        <StateMark status={status} />
        <b class="as-Ellipsis" title={escapeInvisible(session.session_id)}>
          {escapeInvisible(session.agent_id)}
        </b>
        <span class="as-Spring" />
        <Button
          outline
          icon="retry"
          hint="Let it go on with the step that failed"
          disabledReason={retryDisabledReason(model, session)}
          onClick={() => void model.commands.retrySession(session)}
        >
          Retry
        </Button>
        <Button
          icon="open"
          hint="Open in the debugger (o)"
          disabledReason={openDisabledReason(session)}
          onClick={() => onOpen(session)}
        />
        <Button icon="close" hint="Close (Esc)" onClick={close} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by keys */}
      <div class="as-FleetStory-body" role="region" aria-label="Why" tabIndex={0}>
        <p class="as-Muted as-Small">{`${words}: ${explanation}.`}</p>
        <Tries session={session} />
        <Losses losses={session.losses} />
        {error && <p class="as-Text as-FleetStory-error">{error}</p>}
        {!error && session.words && <p class="as-Text">{escapeInvisible(session.words)}</p>}
      </div>
    </section>
  );
}

function Tries({ session: { status, attempt, next_try_at: next } }: { session: FleetSession }) {
  if (attempt === 0 || canRetry(status)) return null;
  const waits = next !== null && status === "retrying";
  return (
    <p class="as-Muted as-Small">
      {formatCount(attempt, "try").replace("trys", "tries")} of its next step failed
      {waits ? `; the next is at ${formatClock(next)}` : ""}.
    </p>
  );
}

/** The workers that its step ended. */
function Losses({ losses }: { losses: readonly StepLoss[] }) {
  if (losses.length === 0) return null;
  return (
    <ol class="as-FleetLosses" aria-label="Workers that its step ended">
      {losses.map(({ worker, at, ending, is_shared }, index) => (
        <li key={index}>
          <span class="as-Muted">{formatClock(at)}</span>{" "}
          <span class="as-Code">{escapeInvisible(worker)}</span>{" "}
          {escapeInvisible(ending ?? "was lost: nothing is known of its end")}
          {is_shared && (
            <span class="as-Muted">
              {" "}
              (its process ran other sessions, too: one of them may be why)
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

function retryDisabledReason(model: FleetModel, { status }: FleetSession): string | null {
  if (model.readOnlyReason.value !== null) return model.readOnlyReason.value;
  if (!canRetry(status)) return "Only a session that ended as an error can be retried";
  return model.commands.progress.value;
}

/** Why no run can be opened; null where one can. */
export const openDisabledReason = ({ run_id }: FleetSession): string | null =>
  run_id === null ? "The session has no run yet: no worker has started it" : null;
