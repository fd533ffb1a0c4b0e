/** Writing a run as a test of pytest, beside its agent. */
import { useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Run } from "../model/model";
import { Button, CopyButton } from "../view/button";
import { escapeInvisible } from "../view/format";
import type { ForkSectionProps } from ".";

export function TestExportSection({ model }: ForkSectionProps) {
  const run = model.run.value;
  return run && <TestExport key={run.id} model={model} run={run} />;
}

type Outcome = { path: string } | { problem: string } | null;

function TestExport({ model, run }: { model: Debugger; run: Run }) {
  const [agent, setAgent] = useState("");
  const [args, setArgs] = useState("");
  const [file, setFile] = useState(() => fileName(run));
  const [replaces, setReplaces] = useState(false);
  const [isWriting, setWriting] = useState(false);
  const [outcome, setOutcome] = useState<Outcome>(null);
  const disabledReason = isWriting
    ? "The agent is being replayed"
    : (readOnlyReason(model) ?? formProblem(run, agent, file));
  const write = async () => {
    if (disabledReason !== null) return;
    setWriting(true);
    setOutcome(null);
    const fields = { agent: agent.trim(), args: argumentsOf(args), file: file.trim(), replaces };
    setOutcome(await requestTest(model, { run: run.id, ...fields }));
    setWriting(false);
  };
  return (
    <section class="as-ForkSection as-Bisect" aria-label="This run as a test">
      <h3>This run as a test</h3>
      <form
        class="as-Bisect-form"
        aria-label="Write a test"
        onSubmit={(event) => {
          event.preventDefault();
          void write();
        }}
      >
        <p class="as-Muted as-Small">
          A test of pytest replays the agent on this run, with no model and no tool. It is written
          into the folder of the run’s command; the agent is replayed once for it.
        </p>
        <label class="as-Bisect-field">
          <span>The agent’s function</span>
          <input
            class="as-Input as-mod-code"
            type="text"
            placeholder="module:function"
            spellcheck={false}
            autocomplete="off"
            autocapitalize="off"
            maxLength={1000}
            value={agent}
            onInput={({ currentTarget }) => setAgent(currentTarget.value)}
          />
        </label>
        <label class="as-Bisect-field">
          <span>Its arguments, one a line</span>
          <textarea
            class="as-Input as-mod-code"
            rows={2}
            placeholder={'What is in this folder?\n{"attempts": 3}'}
            title="Each as JSON, or as text"
            spellcheck={false}
            value={args}
            onInput={({ currentTarget }) => setArgs(currentTarget.value)}
          />
        </label>
        <label class="as-Bisect-field">
          <span>File</span>
          <input
            class="as-Input as-mod-code"
            type="text"
            spellcheck={false}
            autocomplete="off"
            autocapitalize="off"
            maxLength={200}
            value={file}
            onInput={({ currentTarget }) => setFile(currentTarget.value)}
          />
        </label>
        <div class="as-Bisect-acts">
          <Button
            outline
            hint="Replay the agent, and write the test and its recording"
            disabledReason={disabledReason}
            onClick={() => void write()}
          >
            {isWriting ? "Writing…" : "Write the test"}
          </Button>
          <label class="as-Inline as-Small">
            <input
              type="checkbox"
              checked={replaces}
              onChange={({ currentTarget }) => setReplaces(currentTarget.checked)}
            />
            {" Replace files that are there"}
          </label>
        </div>
      </form>
      <OutcomeLine outcome={outcome} />
    </section>
  );
}

function OutcomeLine({ outcome }: { outcome: Outcome }) {
  if (outcome === null) return null;
  if ("problem" in outcome)
    return (
      <p class="as-Bad as-Bisect-message" role="alert">
        {escapeInvisible(outcome.problem)}
      </p>
    );
  return (
    <p class="as-Bisect-message" role="status">
      <Icon name="check" small />
      {"Wrote "}
      <bdi class="as-Code">{escapeInvisible(outcome.path)}</bdi>{" "}
      <CopyButton label="Copy the path" text={() => outcome.path} />
    </p>
  );
}

/** Each line that isn’t empty is an argument. */
export const argumentsOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** A name that pytest finds. */
export const fileName = ({ program }: Pick<Run, "program">): string => {
  const words = program
    .replace(/\.py$/, "")
    .replace(/\W+/g, "_")
    .replace(/^_+|_+$/g, "");
  return `test_${words.toLowerCase().slice(0, 60) || "agent"}.py`;
};

function formProblem(run: Run, agent: string, file: string): string | null {
  if (run.state !== "idle") return "Wait until the run has ended";
  if (!/^[^\s:]+:[^\s:]+$/.test(agent.trim()))
    return "Name the agent’s function as module:function";
  return /^test_\w+\.py$/.test(file.trim()) ? null : "Call the file test_….py";
}

async function requestTest(
  model: Debugger,
  asked: { run: string; agent: string; args: string[]; file: string; replaces: boolean },
): Promise<Outcome> {
  try {
    const { path } = await model.historyOptions.client.request("export_test", asked);
    return { path };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
