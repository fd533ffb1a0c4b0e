/**
 * What became of orders that were taken: an action may still fail, also one for a session that nobody
 * looks at, whose topic is the only place where that is told.
 */
import { LinkLost } from "../client/client";
import type { Action, Notice } from "../protocol/runtime.gen";
import type { RuntimeLine } from "./line";

/** Sessions that are listened to at once: the others wait for their turn, and miss nothing by it. */
const AT_ONCE = 32;

interface Awaited {
  readonly action: Action;
  over(ended: Action): void;
}

export class Outcomes {
  readonly #line: RuntimeLine;
  readonly #trouble: (error: Error) => void;
  /** In the order in which they were taken; the first of them are listened to. */
  readonly #awaited = new Map<string, Awaited>();
  readonly #heard = new Map<string, () => void>();

  constructor(line: RuntimeLine, trouble: (error: Error) => void) {
    this.#line = line;
    this.#trouble = trouble;
  }

  /** The action once it is done or has failed. */
  of(action: Action): Promise<Action> {
    return new Promise((over) => {
      if (isOver(action)) {
        over(action);
        return;
      }
      this.#awaited.set(action.id, { action, over });
      this.#listen();
    });
  }

  /** Whether somebody waits for this action, and says what becomes of it. */
  has(id: string): boolean {
    return this.#awaited.has(id);
  }

  #listen(): void {
    for (const { action } of this.#awaited.values()) {
      if (this.#heard.size >= AT_ONCE) return;
      const { id, session_id } = action;
      if (this.#heard.has(id)) continue;
      const hear = (notice: Notice) => this.#hear(id, notice);
      this.#heard.set(id, this.#line.watch("watch", { topic: `session:${session_id}` }, hear));
    }
  }

  #hear(id: string, { event, actions }: Notice): void {
    const told = actions.find((each) => each.id === id);
    if (told && isOver(told)) this.#end(told);
    else if (!told && event === "begin") void this.#ask(id); // none of the open ones: it is over
  }

  async #ask(id: string): Promise<void> {
    try {
      const { actions } = await this.#line.ask("actions", { id });
      const [found] = actions;
      if (found && isOver(found)) this.#end(found);
    } catch (error) {
      if (!(error instanceof LinkLost)) this.#trouble(error as Error); // else it begins again
    }
  }

  #end(action: Action): void {
    const { id } = action;
    this.#heard.get(id)?.();
    this.#heard.delete(id);
    this.#awaited.get(id)?.over(action);
    this.#awaited.delete(id);
    this.#listen();
  }
}

const isOver = ({ status }: Action): boolean => status === "done" || status === "failed";
