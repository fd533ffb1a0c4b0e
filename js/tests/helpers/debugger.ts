/** A model on a scripted Core, whose frames come when the test says so. */
import { Debugger } from "../../src/model/debugger";
import type { Commit, RowNote, Run, TimelineRow } from "../../src/protocol/types.gen";
import { Peer, settled, TestTimers } from "./peer";
import { opened, testMemory } from "./values";

export function aModel({ run = "", followsNewRuns = false, memory = testMemory() } = {}) {
  const peer = new Peer();
  const timers = new TestTimers();
  let frame: (() => void) | null = null;
  const schedule = (then: () => void) => {
    frame = then;
    return () => {
      frame = null;
    };
  };
  const model = new Debugger({
    transport: peer,
    run,
    followsNewRuns,
    name: "test",
    memory,
    schedule,
    timers,
  });
  model.start();
  /** Draw the next frame: what was pushed is seen. */
  const draw = async () => {
    frame?.();
    frame = null;
    await settled();
  };
  /** Answer the `open_run` that is next. */
  const opens = async (
    run: Run,
    rows: TimelineRow[] = [],
    commits: Commit[] = [],
    notes: RowNote[] = [],
  ) => {
    const contents = opened(run, { rows, commits, notes });
    await peer.answer(peer.take("open_run"), "run_opened", contents);
  };
  return { model, peer, timers, draw, opens, memory };
}

/** A model that shows a run. */
export async function showing(
  run: Run,
  rows: TimelineRow[],
  commits: Commit[] = [],
  notes: RowNote[] = [],
) {
  const all = aModel();
  await all.peer.greet([run]);
  await all.opens(run, rows, commits, notes);
  return all;
}
