/** What an output of our MIME type says. It comes from a file: anything may stand in it. */

export const MIME = "application/vnd.agentstepper.view+json";

/** The view that an output asks for. */
export interface ViewData {
  /** The run's id; "" is the newest. */
  run: string;
  /** Whether to go on to a run that begins once this one has ended. */
  follow: boolean;
  /** Of the view, in pixels. */
  height?: number;
  /** Whether the output's HTML is the timeline of the run, which has ended. */
  kept: boolean;
}

/** Longer than any id, so that nobody puts a book into an address. */
const LONGEST_ID = 200;

/**
 * Read an output's data.
 *
 * @returns The view, or a sentence that says what is wrong.
 */
export function readViewData(data: unknown): ViewData | string {
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    return "This output is not the agent debugger’s: its data is not an object.";
  }
  const { run, follow = false, height, kept = false } = data as Record<string, unknown>;
  if (typeof run !== "string" || run.length > LONGEST_ID) return wrong("run", "a run’s id");
  if (typeof follow !== "boolean") return wrong("follow", "true or false");
  if (typeof kept !== "boolean") return wrong("kept", "true or false");
  if (height === undefined) return { run, follow, kept };
  if (typeof height !== "number" || !Number.isFinite(height)) {
    return wrong("height", "a number of pixels");
  }
  return { run, follow, height, kept };
}

function wrong(field: string, wanted: string): string {
  return `The agent debugger can’t show this output: its “${field}” is not ${wanted}. Run the cell again.`;
}

/** Whether two outputs ask for the same view, whatever is kept beside it. */
export function sameView(a: ViewData | string | null, b: ViewData | string | null): boolean {
  return asks(a) === asks(b);
}

function asks(data: ViewData | string | null): string {
  return JSON.stringify(data, (key, value) => (key === "kept" ? undefined : value));
}
