/** What a person asks an agent that waits at a halt point: its stack, its locals, what an expression is. */
import type { Client } from "../client/core_client";
import type {
  CompletionList,
  Evaluation,
  PdbReady,
  SampledAnswer,
  SamplingOffer,
  StackSnapshot,
  VariablesPage,
} from "../protocol/types.gen";

/** Children that are asked for at once. */
export const PAGE_SIZE = 100;

/** Where a variable hangs: in a frame, or below what an expression came to. */
export interface VariablePlace {
  frame: number;
  /** The number of an expression's result, where it hangs below one. */
  result?: number;
  /** The index at each level. */
  path: readonly number[];
}

/** Each rejects with `CommandError`, whose message says who refuses and why. */
export interface Inspection {
  stack(row: string): Promise<StackSnapshot>;
  variables(row: string, place: VariablePlace, start: number): Promise<VariablesPage>;
  evaluate(row: string, frame: number, expression: string): Promise<Evaluation>;
  complete(row: string, frame: number, text: string, cursor: number): Promise<CompletionList>;
  /** Answers the halt point as a step does. */
  enterPdb(row: string, revision: number): Promise<PdbReady>;
  /** How often the query can be asked again that the row begins or ends. */
  sampling(row: string): Promise<SamplingOffer>;
  /** Ask the query again, once: it costs what a query costs. */
  sample(row: string): Promise<SampledAnswer>;
}

export class CoreInspection implements Inspection {
  readonly #client: Client;
  readonly #run: () => string;

  constructor(client: Client, run: () => string) {
    this.#client = client;
    this.#run = run;
  }

  stack = (row: string) => this.#client.request("get_stack", this.#named(row));
  variables = (row: string, { frame, result, path }: VariablePlace, start: number) =>
    this.#client.request("get_variables", {
      ...this.#named(row),
      frame,
      ...(result !== undefined && { result }),
      path: [...path],
      start,
      count: PAGE_SIZE,
    });
  evaluate = (row: string, frame: number, expression: string) =>
    this.#client.request("evaluate", { ...this.#named(row), frame, expression });
  complete = (row: string, frame: number, text: string, cursor: number) =>
    this.#client.request("complete", { ...this.#named(row), frame, text, cursor });
  enterPdb = (row: string, revision: number) =>
    this.#client.request("enter_pdb", { ...this.#named(row), revision });
  sampling = (row: string) => this.#client.request("get_sampling", this.#named(row));
  sample = (row: string) => this.#client.request("sample_query", this.#named(row));

  #named(row: string) {
    return { run: this.#run(), breakpoint: row };
  }
}
