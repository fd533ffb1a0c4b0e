/** What a person does with many agents at once: halts and continues runs, retries what failed. */

import { signal } from "@preact/signals";
import type { FailedAction, FleetQuery, FleetSession } from "../protocol/runtime.gen";
import type { ActionNotice } from "../sessions/session_actions";
import type { RuntimeClient } from "../sessions/topics";
import { escapeInvisible, formatCount } from "../view/format";

export type ActionRemedy = "retry" | "discard";

/** Requests that are open at once, and rows that are asked for at once. */
const MAX_REQUESTS = 32;
const PAGE = 200;

export class FleetCommands {
  readonly notice = signal<ActionNotice | null>(null);
  /** What is being done, in words; null: nothing. One thing is done at a time. */
  readonly progress = signal<string | null>(null);
  readonly #client: RuntimeClient;
  readonly #onChanged: () => void;

  /** @param onChanged Called once something was done. */
  constructor(client: RuntimeClient, onChanged: () => void) {
    this.#client = client;
    this.#onChanged = onChanged;
  }

  fail(text: string): void {
    this.notice.value = { tone: "bad", text };
  }

  haltAll(): Promise<void> {
    return this.#run("Halting…", async () => {
      const { changed } = await this.#client.request("halt_runs", {});
      return `${formatCount(changed, "run")} will halt at the next halt point.`;
    });
  }

  /**
   * Let halted runs go on.
   *
   * @param which These alone, or all but these; and until when they had halted as the person looked.
   */
  continueRuns(which: { runs?: string[]; but?: string[]; halted_until?: number }): Promise<void> {
    return this.#run("Continuing…", async () => {
      const { changed, approvals } = await this.#client.request("continue_runs", which);
      const stays =
        approvals === 0
          ? ""
          : ` ${formatCount(approvals, "run")} ${approvals === 1 ? "waits" : "wait"} for an approval.`;
      return `${formatCount(changed, "run")} ${changed === 1 ? "goes" : "go"} on.${stays}`;
    });
  }

  retrySession({ session_id, agent_id }: FleetSession): Promise<void> {
    return this.#run("Retrying…", async () => {
      await this.#client.request("retry", { session_id });
      return `${escapeInvisible(agent_id)} goes on with the step that failed.`;
    });
  }

  /** Let all sessions go on that ended with an error of this key. */
  retryGroup(error: string): Promise<void> {
    const query = (offset: number): FleetQuery => ({ error, limit: PAGE, offset });
    return this.#run("Retrying…", async () => {
      const ids: string[] = [];
      for (let more = PAGE; more === PAGE; ) {
        const { report } = await this.#client.request("fleet", query(ids.length));
        ids.push(...report.sessions.map(({ session_id }) => session_id));
        more = report.sessions.length;
      }
      const retry = (session_id: string) => this.#client.request("retry", { session_id });
      return summaryOf(await this.#each("Retrying", ids, "session", retry), "session", "retried");
    });
  }

  remedyAction(remedy: ActionRemedy, { id }: FailedAction): Promise<void> {
    return this.#run(REMEDIES[remedy].doing, async () => {
      await this.#client.request(`${remedy}_action`, { id });
      return `1 action ${REMEDIES[remedy].done}.`;
    });
  }

  /** Retry or discard all failed actions whose error has this key. */
  remedyActions(remedy: ActionRemedy, failed_action: string): Promise<void> {
    const { doing, done } = REMEDIES[remedy];
    return this.#run(doing, async () => {
      // They leave the dead letters as they are done, so that the next page is the first again. What
      // failed since was retried once already.
      const seen = new Set<string>();
      const request = (id: string) => this.#client.request(`${remedy}_action`, { id });
      const first = await this.#client.request("fleet", { failed_action });
      const all: Outcome = { done: 0, failures: [] };
      let { report } = first;
      for (;;) {
        const fresh = report.actions
          .filter(({ id, created_at }) => created_at <= first.at && !seen.has(id))
          .map(({ id }) => id);
        if (fresh.length === 0) break;
        for (const id of fresh) seen.add(id);
        const outcome = await this.#each(doing.replace("…", ""), fresh, "action", request);
        all.done += outcome.done;
        all.failures.push(...outcome.failures);
        try {
          report = (await this.#client.request("fleet", { failed_action })).report;
        } catch (error) {
          if (all.failures.length === 0) throw error;
          break; // the link is away: what was done until then is said
        }
      }
      return summaryOf(all, "action", done);
    });
  }

  /** Do something for each of these, whichever of them fail. */
  async #each(
    doing: string,
    ids: readonly string[],
    noun: string,
    request: (id: string) => Promise<unknown>,
  ): Promise<Outcome> {
    const left = ids.values();
    const failures: string[] = [];
    let finished = 0;
    const doNext = async () => {
      for (const id of left) {
        await request(id).catch((error: Error) => failures.push(error.message));
        finished += 1;
        this.progress.value = `${doing} ${finished.toLocaleString("en-US")} of ${formatCount(ids.length, noun)}…`;
      }
    };
    await Promise.all(Array.from({ length: Math.min(MAX_REQUESTS, ids.length) }, doNext));
    return { done: ids.length - failures.length, failures };
  }

  async #run(doing: string, act: () => Promise<string>): Promise<void> {
    if (this.progress.peek() !== null) return;
    this.notice.value = null;
    this.progress.value = doing;
    try {
      this.notice.value = { tone: "good", text: await act() };
    } catch (error) {
      this.fail((error as Error).message);
    }
    this.progress.value = null;
    this.#onChanged();
  }
}

interface Outcome {
  done: number;
  /** Why each of the others was not. */
  failures: string[];
}

/** What was done with many, in words; throws them where some could not be. */
function summaryOf({ done, failures }: Outcome, noun: string, participle: string): string {
  const said = `${formatCount(done, noun)} ${participle}`;
  if (failures.length === 0) return `${said}.`;
  const count = failures.length.toLocaleString("en-US");
  throw new Error(`${said}; ${count} could not be: ${failures[0]}`);
}

const REMEDIES: Record<ActionRemedy, { doing: string; done: string }> = {
  retry: { doing: "Retrying…", done: "enqueued again" },
  discard: { doing: "Discarding…", done: "discarded" },
};
