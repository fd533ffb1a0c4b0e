/** What the person reads: contents of rows and files, kept for a while, and runs as they stand. */
import type { Client } from "../client/client";
import type { FileBody, Found, MessageBody, Row, RunOpened } from "../protocol/types.gen";
import { Cache } from "./cache";

/** So many places are found in a run; the Core gives no more at once. */
const MOST_PLACES = 500;

export class Reader {
  readonly #client: Client;
  readonly #bodies = new Cache<MessageBody>(({ data, edit }) => data.length + (edit?.length ?? 0));
  readonly #changes = new Cache<FileBody | null>((body) =>
    body ? body.diff.length + body.content.length + body.previous_content.length : 0,
  );

  constructor(client: Client) {
    this.#client = client;
  }

  /** A row's contents; of one that asked for an approval, also what was answered. */
  body(run: string, row: Row): Promise<MessageBody> {
    const asked = row.approval ? row.answer : "";
    return this.#bodies.get(`${run}:${row.id}:${row.revision}:${asked}`, () =>
      this.#client.request("get_message", { run, message: row.id }),
    );
  }

  /** A changed file's contents; null where it is binary or too large. */
  change(run: string, commit: string, path: string): Promise<FileBody | null> {
    return this.#changes.get(`${run}:${commit}:${path}`, async () => {
      const { body } = await this.#client.request("get_change", { run, commit, path });
      return body;
    });
  }

  /** Where words stand in a run, newest first. */
  search(run: string, query: string): Promise<Found> {
    return this.#client.request("search", { query, run, limit: MOST_PLACES });
  }

  /** A run whole, as it stands now; it isn't kept. */
  run(run: string): Promise<RunOpened> {
    return this.#client.request("read_run", { run });
  }
}
