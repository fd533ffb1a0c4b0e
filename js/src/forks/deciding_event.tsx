/** Which event of a good run decides: what a search is told, what it may cost, how far it is, what it found. */
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Run } from "../model/model";
import type { BisectProbe, BisectState, FromUi } from "../protocol/types.gen";
import { Button } from "../view/button";
import { Select } from "../view/fields";
import { escapeInvisible, formatDate } from "../view/format";
import type { ForkSectionProps } from ".";

const LIVE = new Set(["reading", "asking", "running"]);

const isLive = (search: BisectState | null) => search !== null && LIVE.has(search.phase ?? "");

export function DecidingEventSection({ model, tree }: ForkSectionProps) {
  const run = model.run.value;
  return run && <DecidingEvent key={run.id} model={model} run={run} tree={tree} />;
}

interface DecidingEventProps {
  model: Debugger;
  run: Run;
  tree: object;
}

function DecidingEvent({ model, run, tree }: DecidingEventProps) {
  const { search, problem, act } = useSearch(model, run.id, tree);
  const live = isLive(search);
  return (
    <section class="as-ForkSection as-Bisect" aria-label="Which event decided?">
      <h3>Which event decided?</h3>
      {!live && search?.phase && <Result model={model} search={search} />}
      {live && search && <Progress model={model} search={search} act={act} />}
      {problem !== null && (
        <p class="as-Bad as-Bisect-message" role="alert">
          {escapeInvisible(problem)}
        </p>
      )}
      {!live && <SearchForm model={model} run={run} act={act} />}
    </section>
  );
}

// ---- What the Core has of the run's search.

type SearchCommand = "start_bisect" | "answer_bisect" | "cancel_bisect";
type Act = <C extends SearchCommand>(type: C, body: FromUi[C]) => Promise<void>;

/**
 * A search goes on in the Core, whoever looks: while it does, the Core answers once it has changed.
 *
 * @param tree Another one where runs have changed: somebody may have started a search.
 */
function useSearch(model: Debugger, run: string, tree: object) {
  const [search, setSearch] = useState<BisectState | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const { client } = model.historyOptions;
  const open = model.connection.value.kind === "open";
  const seen = search && isLive(search) ? search.revision : null;
  useEffect(() => {
    if (!open) return;
    let isAwaited = true;
    client.request("get_bisect", { run, ...(seen !== null && { seen }) }).then(
      (next) => isAwaited && setSearch(next),
      () => {}, // the link is lost, or the run is gone, which the view says
    );
    return () => {
      isAwaited = false;
    };
  }, [client, run, open, seen ?? tree]);
  const act: Act = async (type, body) => {
    try {
      setSearch(await client.request(type, body));
      setProblem(null);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return { search, problem, act };
}

// ---- What is looked for.

const NO_BAD_RUN = "";
const MOST_REPEATS = 25;
/** Runs that are offered as the bad one. */
const MOST_RUNS = 100;

interface FormProps {
  model: Debugger;
  run: Run;
  act: Act;
}

function SearchForm({ model, run, act }: FormProps) {
  const [bad, setBad] = useState(NO_BAD_RUN);
  const [check, setCheck] = useState("");
  const [repeat, setRepeat] = useState("3");
  const [isStarting, setStarting] = useState(false);
  const disabledReason = isStarting
    ? "The recording is being read"
    : (readOnlyReason(model) ?? formProblem(run, check, repeat));
  const start = async () => {
    if (disabledReason !== null) return;
    setStarting(true);
    const asked = { run: run.id, bad: bad || null, check, repeat: Number(repeat) };
    await act("start_bisect", asked);
    setStarting(false);
  };
  return (
    <form
      class="as-Bisect-form"
      aria-label="Search for the deciding event"
      onSubmit={(event) => {
        event.preventDefault();
        void start();
      }}
    >
      <p class="as-Muted as-Small">
        This run passes a check, and others fail. The agent is executed again and again, each time
        served from this run up to another event, to find the first without whose outcome it fails.
      </p>
      <div class="as-Bisect-field">
        <span aria-hidden="true">A run that fails</span>
        <Select
          label="A run that fails"
          value={bad}
          options={badRuns(model, run)}
          onChange={setBad}
        />
      </div>
      <label class="as-Bisect-field">
        <span>Check, a shell command</span>
        <input
          class="as-Input as-mod-code"
          type="text"
          placeholder="grep -q passed"
          title="It reads what the program printed, runs in the program’s folder, and passes with exit code 0; AGENTSTEPPER_RUN is the run’s id"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          maxLength={10_000}
          value={check}
          onInput={({ currentTarget }) => setCheck(currentTarget.value)}
        />
      </label>
      <label class="as-Bisect-field">
        <span>Executions for each event</span>
        <input
          class="as-Input as-Bisect-repeat"
          type="number"
          title="More than half of them must pass: models answer differently each time"
          min={1}
          max={MOST_REPEATS}
          value={repeat}
          onInput={({ currentTarget }) => setRepeat(currentTarget.value)}
        />
      </label>
      <div class="as-Bisect-acts">
        <Button
          outline
          hint="Say how many LLM queries that makes at most; nothing is executed before you agree"
          disabledReason={disabledReason}
          onClick={() => void start()}
        >
          Estimate…
        </Button>
      </div>
    </form>
  );
}

function formProblem(run: Run, check: string, repeat: string): string | null {
  if (run.state !== "idle") return "Wait until the run has ended";
  if (check.trim() === "") return "Write a check";
  const count = Number(repeat);
  if (Number.isInteger(count) && count >= 1 && count <= MOST_REPEATS) return null;
  return `Write a number of executions from 1 to ${MOST_REPEATS}`;
}

/** Those of the same program that have ended, newest first. */
function badRuns(model: Debugger, run: Run): [string, string][] {
  const others = model.runs.value.filter(
    ({ id, program, state }) => id !== run.id && program === run.program && state === "idle",
  );
  const newest = others.reverse().slice(0, MOST_RUNS);
  return [
    [NO_BAD_RUN, "none: look whether the agent fails by itself"],
    ...newest.map(({ id, name, started_at: at }): [string, string] => [
      id,
      `${escapeInvisible(name)}, ${formatDate(at)}`,
    ]),
  ];
}

// ---- How far it is.

interface ProgressProps {
  model: Debugger;
  search: BisectState;
  act: Act;
}

function Progress({ model, search, act }: ProgressProps) {
  const { run, phase, execution, probes } = search;
  const readOnly = readOnlyReason(model);
  const cancel = (
    <Button
      outline
      hint="End the search and the program that it executes"
      disabledReason={search.is_cancelling ? "It is being ended" : readOnly}
      onClick={() => void act("cancel_bisect", { run })}
    >
      {search.is_cancelling ? "Cancelling…" : "Cancel the search"}
    </Button>
  );
  return (
    <div class="as-Bisect-progress">
      <p class="as-Small as-Muted">
        {"Check: "}
        <code class="as-Code">{escapeInvisible(search.check)}</code>
      </p>
      <Probes model={model} probes={probes} />
      <p class="as-Bisect-message" role="status">
        {phase !== "asking" && <Icon name="spin" small spin />}
        {progressText(search)}
        {execution !== null && (
          <>
            {" "}
            <button type="button" class="as-Link" onClick={() => void model.openRun(execution)}>
              Show its run
            </button>
          </>
        )}
      </p>
      <div class="as-Bisect-acts">
        {phase === "asking" && (
          <Button
            outline
            hint="Let the agent make so many LLM queries"
            disabledReason={readOnly}
            onClick={() => void act("answer_bisect", { run, goes_on: true })}
          >
            {probes.length === 0 ? "Begin" : "Go on"}
          </Button>
        )}
        {cancel}
      </div>
    </div>
  );
}

function progressText(search: BisectState): string {
  const { phase, probes, repeat, queries } = search;
  if (phase === "reading") return "Reading the recording…";
  if (phase === "asking") return escapeInvisible(search.question);
  const probe = probes.at(-1);
  if (!probe) return "Beginning…";
  const made = probes.reduce((sum, each) => sum + each.queries, 0);
  const execution = Math.min(probe.votes.length + 1, repeat);
  return `Executing the agent ${placeText(probe)}: ${execution} of up to ${repeat}. ${made} of at most ${queries} LLM queries were made.`;
}

const placeText = ({ row }: BisectProbe) =>
  row === 0 ? "from its start" : `served up to row ${row}`;

/** What was tried, with the vote of each execution. */
function Probes({ model, probes }: { model: Debugger; probes: readonly BisectProbe[] }) {
  if (probes.length === 0) return null;
  return (
    <ol class="as-Bisect-probes" aria-label="Tried">
      {probes.map((probe, at) => (
        <li key={at}>
          {probe.row === 0 ? (
            <span>From its start</span>
          ) : (
            <>
              {"Up to "}
              <RowButton model={model} row={probe.row} />
            </>
          )}
          {probe.votes.map((passed, vote) => (
            <Vote key={vote} model={model} passed={passed} run={probe.runs[vote]} />
          ))}
          {probe.votes.length === 0 && <span class="as-Muted">…</span>}
        </li>
      ))}
    </ol>
  );
}

interface VoteProps {
  model: Debugger;
  passed: boolean;
  run: string | undefined;
}

function Vote({ model, passed, run }: VoteProps) {
  const words = passed ? "Passed" : "Failed";
  return (
    <button
      type="button"
      class={`as-Bisect-vote ${passed ? "as-Good" : "as-Bad"}`}
      title={`${words}: show this execution’s run`}
      aria-label={`${words}: show its run`}
      onClick={() => run && void model.openRun(run)}
    >
      <Icon name={passed ? "check" : "cross"} />
    </button>
  );
}

function RowButton({ model, row }: { model: Debugger; row: number }) {
  return (
    <button
      type="button"
      class="as-Link"
      title={`Go to row ${row} in the timeline`}
      onClick={() => model.reveal(row)}
    >
      {`row ${row}`}
    </button>
  );
}

// ---- What it came to.

function Result({ model, search }: { model: Debugger; search: BisectState }) {
  const { phase, message, row, probes } = search;
  const failed = phase === "failed";
  return (
    <div class="as-Bisect-progress">
      <p class={`as-Bisect-message ${failed ? "as-Bad" : ""}`} role={failed ? "alert" : "status"}>
        <span class={phase === "found" ? "as-Good" : ""}>
          <Icon name={phase === "found" ? "check" : failed ? "cross" : "warn"} small />
        </span>
        {escapeInvisible(message)}
        {row !== null && (
          <>
            {" Go to "}
            <RowButton model={model} row={row} />.
          </>
        )}
      </p>
      <Probes model={model} probes={probes} />
    </div>
  );
}
