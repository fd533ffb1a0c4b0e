/** What the person orders of the shown run. A refusal is put beside the controls, never thrown. */
import { type Client, CommandError, LinkLost } from "../client/core_client";
import type { RunStartedAgain, StartAgain } from "../protocol/types.gen";
import type { Debugger } from "./debugger";
import type { ApprovalOptions, Run, TimelineRow } from "./model";
import { INTO, type StepGoal, stepTarget } from "./steps";

/** The fields by which a command names what it answers. */
interface HaltPointRef {
  breakpoint: string;
  revision: number;
  edit: string | null;
}

export class Commands {
  readonly #model: Debugger;
  readonly #client: Client;

  constructor(model: Debugger, client: Client) {
    this.#model = model;
    this.#client = client;
  }

  /**
   * Answer the target; where that asks for an approval, lead the person there: a step approves nothing.
   * With no target only a step to a halt point has something to do: a running agent is halted by `halt`.
   *
   * @param goal How far the step goes.
   */
  async step(goal: StepGoal = INTO): Promise<void> {
    const target = this.#model.target.peek();
    const aim = stepTarget(goal, this.#model.freezesOthers.peek());
    if (!target) {
      if (goal.kind === "to" && !this.#model.run.peek()?.pending.length)
        await this.#sendForRun((run) => this.#client.request("step", { run: run.id, target: aim }));
      else await this.#answerAll();
      return;
    }
    if (target.approval) {
      this.#model.focusQuestion(target);
      return;
    }
    await this.#answer([target], async (run, haltPoint) => {
      const meant = this.#isSticky(target) ? await this.#stick(run, target, haltPoint) : haltPoint;
      await this.#client.request("step", { run: run.id, ...meant, target: aim });
    });
  }

  async approve(row: TimelineRow, how: ApprovalOptions): Promise<void> {
    await this.#answer([row], (run, haltPoint) =>
      this.#client.request("approve", { run: run.id, ...haltPoint, ...how }),
    );
  }

  async deny({ id, revision }: TimelineRow, reason: string): Promise<void> {
    const haltPoint = { breakpoint: id, revision, reason };
    await this.#send([id], (run) => this.#client.request("deny", { run: run.id, ...haltPoint }));
  }

  /** Give a call's result in the call's place. Tells whether the Core took it. */
  async skip({ id, revision }: TimelineRow, result: string): Promise<boolean> {
    const meant = { breakpoint: id, revision, result };
    return this.#send([id], (run) => this.#client.request("skip", { run: run.id, ...meant }));
  }

  /** Let the agent's code see an exception; without a type it is an InjectedError. */
  async raise({ id, revision }: TimelineRow, message: string, type: string): Promise<boolean> {
    const meant = { breakpoint: id, revision, message, ...(type && { type }) };
    return this.#send([id], (run) => this.#client.request("raise", { run: run.id, ...meant }));
  }

  /** Add a message to a pending prompt, after its draft where there is one. */
  async guide(row: TimelineRow, text: string): Promise<boolean> {
    if (!this.#sendable(row)) return false;
    const draft = this.#model.draft(row.id);
    const sent = draft.peek()?.text;
    const taken = await this.#sendForRun((run) =>
      this.#client.request("guide", { run: run.id, ...this.#haltPointRef(row), text }),
    );
    if (taken && draft.peek()?.text === sent) draft.value = null; // else it was edited meanwhile
    return taken;
  }

  /** Take the edit of a pending row back: the original goes on. */
  async takeBack({ id, revision }: TimelineRow): Promise<void> {
    await this.#sendForRun((run) =>
      this.#client.request("edit", { run: run.id, breakpoint: id, revision, edit: null }),
    );
  }

  /** Answer all that is pending and go on; what asks for an approval still waits. */
  async resume(): Promise<void> {
    const chosen = this.#model.target.peek();
    const sent = this.#model.sent.peek();
    const pending = this.#model.pending
      .peek()
      .filter(({ approval, id }) => !approval && !sent.has(id));
    const target = pending.find(({ id }) => id === chosen?.id) ?? pending[0];
    if (!target) {
      const nothing = { breakpoint: null, revision: null, edit: null };
      await this.#sendForRun((run) =>
        this.#client.request("continue", { run: run.id, ...nothing }),
      );
      return;
    }
    // The target's edit travels with the command; those of the others go before.
    const others = pending.filter(({ id }) => id !== target.id);
    await this.#answer([target, ...others], async (run, haltPoint) => {
      for (const row of others) await this.#sendDraft(run, row);
      const meant = this.#isSticky(target) ? await this.#stick(run, target, haltPoint) : haltPoint;
      await this.#client.request("continue", { run: run.id, ...meant });
    });
  }

  /** What waits isn't here, and is fetched to be seen before it is answered; or it is told why it can't be. */
  async #answerAll(): Promise<void> {
    const { run, sent, window } = this.#model;
    const first = run.peek()?.pending.find((id) => !sent.peek().has(id));
    if (first !== undefined) await window.fetchById(first);
  }

  async halt(): Promise<void> {
    await this.#sendForRun(({ id }) => this.#client.request("halt", { run: id }));
  }

  async stop(): Promise<void> {
    await this.#sendForRun(({ id }) => this.#client.request("stop", { run: id }));
  }

  /** Start a run again; null where that was refused. */
  async startAgain(how: StartAgain): Promise<RunStartedAgain | null> {
    let begun: RunStartedAgain | null = null;
    await this.#run(async () => {
      begun = await this.#client.request("start_again", how);
    });
    return begun;
  }

  async rename(name: string, id?: string): Promise<void> {
    const run = id ?? this.#model.run.peek()?.id;
    if (run) await this.#run(() => this.#client.request("rename_run", { run, name }));
  }

  async remove(id?: string): Promise<void> {
    const run = id ?? this.#model.run.peek()?.id;
    if (run) await this.#run(() => this.#client.request("delete_run", { run }));
  }

  /** Answer rows, the first being the aim; until the Core says so they count as answered. */
  async #answer(
    rows: TimelineRow[],
    order: (run: Run, haltPoint: HaltPointRef) => Promise<unknown>,
  ): Promise<void> {
    const [target] = rows;
    if (!target || rows.some((row) => !this.#sendable(row))) return;
    await this.#send(
      rows.map(({ id }) => id),
      (run) => order(run, this.#haltPointRef(target)),
    );
  }

  async #send(ids: string[], order: (run: Run) => Promise<unknown>): Promise<boolean> {
    this.#markSent(ids, true);
    const taken = await this.#sendForRun(order);
    if (!taken) {
      this.#markSent(ids, false);
      return false;
    }
    for (const id of ids) this.#model.draft(id).value = null;
    this.#model.followHalts();
    return true;
  }

  #haltPointRef(row: TimelineRow): HaltPointRef {
    const draft = this.#model.draft(row.id).peek();
    return {
      breakpoint: row.id,
      revision: draft?.revision ?? row.revision,
      edit: draft?.text ?? null,
    };
  }

  /** Whether a row's draft is JSON, or there is none; else show the person where to look. */
  #sendable(row: TimelineRow): boolean {
    const draft = this.#model.draft(row.id).peek();
    if (!draft) return true;
    try {
      JSON.parse(draft.text);
      return true;
    } catch (error) {
      this.#model.reveal(row.id);
      this.#model.editing.value = true;
      this.#model.onError("invalid_edit", `The edit isn't JSON yet: ${(error as Error).message}.`);
      return false;
    }
  }

  async #sendDraft(run: Run, row: TimelineRow): Promise<void> {
    const { breakpoint, revision, edit } = this.#haltPointRef(row);
    if (edit !== null) {
      const sticky = this.#isSticky(row) ? { sticky: true } : {};
      await this.#client.request("edit", { run: run.id, breakpoint, revision, edit, ...sticky });
    }
  }

  #isSticky({ id }: TimelineRow): boolean {
    return this.#model.draft(id).peek()?.sticky === true;
  }

  /** Send a sticky edit before what answers its row: only the command `edit` can say that it is sticky. */
  async #stick(run: Run, row: TimelineRow, haltPoint: HaltPointRef): Promise<HaltPointRef> {
    await this.#sendDraft(run, row);
    return { ...haltPoint, revision: haltPoint.revision + 1, edit: null };
  }

  #markSent(ids: string[], sent: boolean): void {
    const now = new Set(this.#model.sent.peek());
    for (const id of ids) sent ? now.add(id) : now.delete(id);
    this.#model.sent.value = now;
  }

  /** Send an order to the shown run; tells whether it was taken. */
  async #sendForRun(send: (run: Run) => Promise<unknown>): Promise<boolean> {
    const run = this.#model.run.peek();
    return run ? this.#run(() => send(run)) : false;
  }

  async #run(send: () => Promise<unknown>): Promise<boolean> {
    if (!this.#model.control.peek()) return false;
    try {
      await send();
      this.#model.problem.value = null;
      return true;
    } catch (error) {
      // A lost link says so itself, in the header.
      if (error instanceof CommandError) this.#model.onError(error.code, error.message);
      else if (!(error instanceof LinkLost)) throw error;
      return false;
    }
  }
}
