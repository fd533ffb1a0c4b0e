import { LinkLost } from "../client/client";

/** Lets what was sent, and never answered, be sent again without being done twice. */
export class Once {
  readonly #unanswered = new Map<string, string>();

  /**
   * Ask for something that isn't to be done twice.
   *
   * @param sent - What is asked for: the same again, after an answer that got lost, has the same key.
   * @param ask - Asks, with the key.
   */
  async ask<T>(sent: string, ask: (idem_key: string) => Promise<T>): Promise<T> {
    const idem_key = this.#unanswered.get(sent) ?? newKey();
    this.#unanswered.set(sent, idem_key);
    let answered = true;
    try {
      return await ask(idem_key);
    } catch (error) {
      answered = !(error instanceof LinkLost);
      throw error;
    } finally {
      if (answered) this.#unanswered.delete(sent);
    }
  }
}

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12)); // randomUUID needs https
  return `view-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
