/** Where there is nothing to show: what this is, and what to do next. */
import type { ComponentChildren } from "preact";
import type { Debugger } from "../model/debugger";
import { obstacle } from "../model/status";
import { Button, CopyButton } from "./button";

/** What stands in place of the run; null where a run can be shown. */
export function emptyState(model: Debugger) {
  const connection = model.connection.value;
  if (model.run.value) return null; // also without a connection: what is here can be read
  const apart = obstacle(connection);
  if (apart) return <Apart model={model} message={apart} />;
  if (connection.kind === "lost") return <Unreachable model={model} />;
  if (connection.kind === "connecting" || model.opening.value) return <div />;
  if (model.wanted.value === "") return <NoRun />;
  return model.moreRuns.value > 0 ? <div /> : <Awaited model={model} />;
}

interface EmptyProps {
  title: string;
  children?: ComponentChildren;
}

function Empty({ title, children }: EmptyProps) {
  return (
    <div class="as-Scroll">
      <div class="as-Empty">
        <h3>{title}</h3>
        {children}
      </div>
    </div>
  );
}

const CELL = "%%step my-agent\nrun_my_agent(dbg)";
const PROGRAM = `from agentstepper_nb import AgentStepper

with AgentStepper("my-agent") as dbg:
    with dbg.llm(prompt) as q:
        q.response = model(q.prompt)`;

function NoRun() {
  return (
    <Empty title="Run an agent to step it">
      <p>
        Put this line on top of the cell that runs your agent. Your agent marks its calls with dbg,
        and halts before the first.
      </p>
      <CodeLine code={CELL} copies="%%step my-agent" />
      <p>This is a marked call, in a program that needs no notebook:</p>
      <CodeLine code={PROGRAM} />
    </Empty>
  );
}

function Awaited({ model }: { model: Debugger }) {
  const others = model.runs.value.length > 0;
  return (
    <Empty title="This run isn’t here">
      <p>
        It has not begun yet, or it was deleted. The view shows it as soon as the Core knows it
        {others ? "; the other runs are in the list above." : "."}
      </p>
      {others && (
        <div class="as-Empty-actions">
          <Button
            outline
            hint="Show the run that began last"
            onClick={() => {
              const newest = model.runs.peek().at(-1);
              if (newest) model.openRun(newest.id);
            }}
          >
            Show the newest run
          </Button>
        </div>
      )}
    </Empty>
  );
}

function Unreachable({ model }: { model: Debugger }) {
  return (
    <Empty title="The server does not answer">
      <p>
        It may be restarting, or the network is down. An agent that is halted stays halted and loses
        nothing. The view goes on trying.
      </p>
      <Retry model={model} />
    </Empty>
  );
}

function Apart({ model, message }: { model: Debugger; message: string }) {
  return (
    <Empty title="This view isn’t connected">
      <p>{message}</p>
      <Retry model={model} />
    </Empty>
  );
}

function Retry({ model }: { model: Debugger }) {
  return (
    <div class="as-Empty-actions">
      <Button outline icon="retry" hint="Connect now" onClick={model.retry}>
        Retry now
      </Button>
    </div>
  );
}

/** Code to paste, with a button that copies it. */
function CodeLine({ code, copies = code }: { code: string; copies?: string }) {
  return (
    <div class="as-CodeLine">
      <pre>{code}</pre>
      <CopyButton label="Copy" text={() => copies} />
    </div>
  );
}
