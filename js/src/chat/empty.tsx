/** Where there is no conversation to show: what this is, and what to do next. */
import { obstacle } from "../model/status";
import { Button } from "../view/button";
import { visible } from "../view/visible";
import type { ChatModel } from "./model";

/** What stands in place of the conversation; null where one is shown, or may soon be. */
export function emptyState(model: ChatModel) {
  const connection = model.line.connection.value;
  if (model.removed.value) return <Deleted model={model} />;
  if (model.info.value !== null) return null;
  const apart = connection.kind === "lost" ? AWAY : obstacle(connection);
  return apart === null ? null : <Apart model={model} message={apart} />;
}

const AWAY = "The kernel doesn’t answer. The view goes on by itself once it does.";

function Apart({ model, message }: { model: ChatModel; message: string }) {
  return (
    <div class="as-Empty" role="alert">
      <h3>Not connected</h3>
      <p>{visible(message)}</p>
      <div class="as-Empty-actions">
        <Button outline icon="retry" hint="Connect now" onClick={() => model.line.retry()}>
          Try again
        </Button>
      </div>
    </div>
  );
}

function Deleted({ model }: { model: ChatModel }) {
  return (
    <div class="as-Empty" role="alert">
      <h3>This conversation was deleted</h3>
      <p>Begin another one, or choose one of the list.</p>
      <div class="as-Empty-actions">
        <Button
          outline
          icon="plus"
          hint="Begin another conversation"
          held={model.barred.value}
          onClick={() => void model.begin()}
        >
          New conversation
        </Button>
      </div>
    </div>
  );
}
