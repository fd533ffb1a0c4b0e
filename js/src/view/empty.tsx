/** Where there is nothing to show: what this is, and what to do next. */
import type { Debugger } from "../model/debugger";
import { obstacle } from "../model/status";
import { Button } from "./button";
import { CodeLine, Empty, type EmptyProps } from "./told";

/** What stands in place of the run; null where a run can be shown. */
export function emptyState(model: Debugger) {
  const connection = model.connection.value;
  if (model.run.value) return null; // also without a connection: what is here can be read
  const apart = obstacle(connection);
  if (apart) return <Apart model={model} title="This view isn’t connected" why={apart} />;
  if (connection.kind === "lost")
    return <Apart model={model} title="The server does not answer" why={AWAY} />;
  if (connection.kind === "connecting" || model.opening.value) return <div />;
  if (model.wanted.value === "") return <NoRun />;
  return model.moreRuns.value > 0 ? <div /> : <Awaited model={model} />;
}

function Whole(props: EmptyProps) {
  return (
    <div class="as-Scroll">
      <Empty {...props} />
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
    <Whole title="Run an agent to step it">
      <p>
        Put this line on top of the cell that runs your agent. Your agent marks its calls with dbg,
        and halts before the first.
      </p>
      <CodeLine code={CELL} copies="%%step my-agent" />
      <p>This is a marked call, in a program that needs no notebook:</p>
      <CodeLine code={PROGRAM} />
    </Whole>
  );
}

function Awaited({ model }: { model: Debugger }) {
  const others = model.runs.value.length > 0;
  const showNewest = (
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
  );
  return (
    <Whole title="This run isn’t here" actions={others && showNewest}>
      <p>
        It has not begun yet, or it was deleted. The view shows it as soon as the Core knows it
        {others ? "; the other runs are in the list above." : "."}
      </p>
    </Whole>
  );
}

const AWAY =
  "It may be restarting, or the network is down. An agent that is halted stays halted and loses " +
  "nothing. The view goes on trying.";

function Apart({ model, title, why }: { model: Debugger; title: string; why: string }) {
  const again = (
    <Button outline icon="retry" hint="Connect now" onClick={model.retry}>
      Retry now
    </Button>
  );
  return (
    <Whole title={title} actions={again}>
      <p>{why}</p>
    </Whole>
  );
}
