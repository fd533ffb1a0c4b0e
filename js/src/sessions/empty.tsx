/** Where there is no session to list: what this is, and what to do next. */
import { CopyButton } from "../inspector/copy";
import { obstacle } from "../model/status";
import { Button } from "../view/button";
import type { SessionsModel } from "./model";

const CODE = `from agentstepper_nb import Agents

agents = Agents.connect()
agents.create_agent("joker", "joke", {"subject": "cats"})`;

/** What stands in place of the list; null where sessions are listed, or may soon be. */
export function emptyState(model: SessionsModel, listed: number) {
  const connection = model.line.connection.value;
  const all = model.states.value.size;
  const apart = obstacle(connection);
  if (all === 0 && apart) return <Apart model={model} message={apart} />;
  if (all === 0 && connection.kind === "lost") return <Apart model={model} message={AWAY} />;
  if (all === 0) return model.loaded.value ? <NoAgents /> : <div />;
  return listed === 0 ? <NoneLeft model={model} /> : null;
}

const AWAY = "The Core doesn’t answer. The view goes on by itself once it is back.";

function Apart({ model, message }: { model: SessionsModel; message: string }) {
  return (
    <div class="as-Empty" role="alert">
      <h3>Not connected</h3>
      <p>{message}</p>
      <div class="as-Empty-actions">
        <Button outline icon="retry" hint="Connect now" onClick={() => model.line.retry()}>
          Try again
        </Button>
      </div>
    </div>
  );
}

function NoAgents() {
  return (
    <div class="as-Empty">
      <h3>No agent runs on its own yet</h3>
      <p>
        An agent that is created does one step after the other in a worker, whatever this notebook
        does meanwhile. It shows here at once:
      </p>
      <div class="as-CodeLine">
        <pre>{CODE}</pre>
        <CopyButton label="Copy the code" text={() => CODE} />
      </div>
    </div>
  );
}

function NoneLeft({ model }: { model: SessionsModel }) {
  return (
    <div class="as-Empty">
      <h3>No session fits the filter</h3>
      <p>Agents, sessions, monikers and last words were looked at.</p>
      <div class="as-Empty-actions">
        <Button
          outline
          hint="Show all sessions"
          onClick={() => model.narrow({ text: "", state: "" })}
        >
          Show all sessions
        </Button>
      </div>
    </div>
  );
}
