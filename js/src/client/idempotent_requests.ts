/** Requests that may be sent again without being done twice. */
import { LinkLost } from "./core_client";

/** Gives a request whose answer was lost the same key when it is sent again. */
export class IdempotentRequests {
  readonly #unanswered = new Map<string, string>();

  /**
   * Ask for something that isn't to be done twice.
   *
   * @param request - What is asked for: the same again, after an answer that got lost, has the same key.
   * @param sendRequest - Asks, with the key.
   */
  async sendRequest<T>(request: string, sendRequest: (idem_key: string) => Promise<T>): Promise<T> {
    const idem_key = this.#unanswered.get(request) ?? newKey();
    this.#unanswered.set(request, idem_key);
    let answered = true;
    try {
      return await sendRequest(idem_key);
    } catch (error) {
      answered = !(error instanceof LinkLost);
      throw error;
    } finally {
      if (answered) this.#unanswered.delete(request);
    }
  }
}

/** A key that no other request has. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12)); // randomUUID needs https
  return `view-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
