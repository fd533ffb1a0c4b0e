/** What the view of all agents asks for, and when. */
import { afterEach, expect, test } from "vitest";
import { FleetModel } from "../../src/fleet/model";
import {
  aFailedAction,
  aFleetSession,
  aHaltedRun,
  FakeFleet,
  type FleetKept,
} from "../helpers/fleet";
import { settled, TestTimers } from "../helpers/peer";

const models: FleetModel[] = [];
afterEach(() => {
  for (const model of models.splice(0)) model.close();
});

async function started(kept: FleetKept = {}, core = new FakeFleet(kept)) {
  const timers = new TestTimers();
  const model = new FleetModel({ transport: core, name: "test", timers });
  models.push(model);
  model.start();
  await settled();
  const pass = async (ms: number) => {
    timers.pass(ms);
    await settled();
  };
  return { core, model, pass, timers };
}

const many = (n: number) =>
  Array.from({ length: n }, (_, at) => aFleetSession(`s${at}`, { created_at: 1000 - at }));

test("it asks once a second, and never again before it was answered", async () => {
  const { core, pass } = await started();
  expect(core.queries).toHaveLength(1);
  await pass(999);
  expect(core.queries).toHaveLength(1);
  await pass(1);
  expect(core.queries).toHaveLength(2);
  core.holds = true;
  await pass(1000);
  await pass(60_000);
  expect(core.queries).toHaveLength(2);
  core.holds = false;
  await core.release();
  expect(core.queries).toHaveLength(3);
});

test("a Core that takes long to answer is asked less often", async () => {
  const { core, pass } = await started();
  core.holds = true;
  await pass(1000);
  await pass(2000); // the answer takes so long
  core.holds = false;
  await core.release();
  await pass(7999);
  expect(core.queries).toHaveLength(2);
  await pass(1);
  expect(core.queries).toHaveLength(3);
});

test("of ten thousand sessions a page is asked for: those in sight and some around", async () => {
  const { core, model, pass } = await started({ sessions: many(10_000) });
  expect(core.queries[0]?.offset).toBe(0);
  expect(model.matching.value).toBe(10_000);
  model.look(5000, 5015, false);
  await pass(100);
  const asked = core.queries.at(-1);
  expect([asked?.offset, asked?.limit]).toEqual([4980, 56]);
  expect(model.sessions.value.get(5000)?.session_id).toBe("s5000");
  expect(model.sessions.value.get(4979)).toBeUndefined();
  for (let first = 0; first < 10_000; first += 50) {
    model.look(first, first + 15, false);
    await pass(100);
  }
  expect(model.sessions.value.size).toBeLessThanOrEqual(1100);
});

test("newer sessions don't move what a person reads further down", async () => {
  const { core, model, pass } = await started({ sessions: many(100) });
  expect(core.queries[0]?.created_until).toBeUndefined();
  model.look(50, 60, false);
  await pass(100);
  core.sessions.unshift(aFleetSession("new", { created_at: core.at + 5 }));
  core.at += 100;
  await pass(1000);
  expect(model.sessions.value.get(50)?.session_id).toBe("s50");
  expect(model.matching.value).toBe(100);
  model.look(0, 10, true);
  await pass(100);
  expect(model.sessions.value.get(0)?.session_id).toBe("new");
});

test("an answer to another filter is no list of this one", async () => {
  const sessions = [aFleetSession("a"), aFleetSession("b", { status: "done" })];
  const { core, model, pass } = await started({ sessions });
  core.holds = true;
  await pass(1000);
  model.updateFilter({ status: "done" });
  await core.release();
  expect(model.isListed.value).toBe(false);
  core.holds = false;
  await pass(100);
  expect(model.isListed.value).toBe(true);
  expect([...model.sessions.value.values()].map(({ session_id }) => session_id)).toEqual(["b"]);
  expect(core.queries.at(-1)?.status).toEqual(["done"]);
});

test("a run that went on isn't chosen any more", async () => {
  const { core, model, pass } = await started({ halted: [aHaltedRun("a"), aHaltedRun("b")] });
  model.setChosen(["a", "b"]);
  core.halted = core.halted.slice(1);
  await pass(1000);
  expect([...model.chosen.value]).toEqual(["b"]);
});

test("all of a group are retried, however many pages they are", async () => {
  const failed = Array.from({ length: 450 }, (_, at) =>
    aFleetSession(`f${at}`, { status: "error", last_error: `Boom ${at}` }),
  );
  const other = aFleetSession("other", { status: "error", last_error: "Other" });
  const { core, model } = await started({ sessions: [...failed, other] });
  await model.commands.retryGroup("Boom …");
  const retried = core.done.map(([, { session_id }]) => session_id);
  expect(new Set(retried)).toEqual(new Set(failed.map(({ session_id }) => session_id)));
  expect(retried).toHaveLength(450);
  expect(model.commands.notice.value).toEqual({ tone: "good", text: "450 sessions retried." });
});

test("dead letters that fail anew are not retried again and again", async () => {
  const { core, model } = await started({ actions: [aFailedAction("a"), aFailedAction("b")] });
  const fails = core.actions[0];
  const answer = Object.getPrototypeOf(core).request;
  let rounds = 0;
  Object.assign(core, {
    request(this: FakeFleet, id: string, method: string, params: Record<string, unknown>) {
      answer.call(core, id, method, params);
      if (method !== "retry_action" || !fails) return;
      rounds += 1;
      core.at += 10;
      core.actions.push({ ...fails, id: `again-${rounds}`, created_at: core.at });
    },
  });
  await model.commands.remedyActions("retry", "The session has ended.");
  expect(rounds).toBe(2);
  expect(model.commands.notice.value?.text).toBe("2 actions enqueued again.");
});

/** A fleet that refuses what is done with some of its dead letters. */
class RefusingFleet extends FakeFleet {
  asked: unknown[] = [];
  constructor(
    kept: FleetKept,
    readonly refused: readonly string[],
  ) {
    super(kept);
  }

  protected override request(id: string, method: string, params: Record<string, unknown>): void {
    if (method !== "fleet") this.asked.push(params.id);
    if (this.refused.includes(String(params.id)))
      this.say("failed", { code: "not_failed", message: "It ended otherwise." }, id);
    else super.request(id, method, params);
  }
}

test.each([
  ["retry", "enqueued again"],
  ["discard", "discarded"],
] as const)("one refused dead letter doesn't end the %s of the others", async (remedy, words) => {
  const actions = Array.from({ length: 450 }, (_, at) => aFailedAction(`a${at}`));
  const { core, model } = await started({}, new RefusingFleet({ actions }, ["a7"]));
  await model.commands.remedyActions(remedy, "The session has ended.");
  expect((core as RefusingFleet).asked).toHaveLength(450); // each once
  expect(core.actions.map(({ id }) => id)).toEqual(["a7"]);
  expect(model.commands.notice.value).toEqual({
    tone: "bad",
    text: `449 actions ${words}; 1 could not be: It ended otherwise.`,
  });
});

test("what is refused is said, and how many were done", async () => {
  const refuses = { code: "session_over", message: "It ended otherwise." };
  const sessions = [aFleetSession("a", { status: "error", last_error: "Boom" })];
  const { core, model } = await started({ sessions, refuses });
  await model.commands.retryGroup("Boom");
  expect(model.commands.notice.value).toEqual({
    tone: "bad",
    text: "0 sessions retried; 1 could not be: It ended otherwise.",
  });
  expect(model.commands.progress.value).toBeNull();
  core.refuses = undefined;
  await model.commands.haltAll();
  expect(model.commands.notice.value?.text).toBe("1 run will halt at the next halt point.");
});
