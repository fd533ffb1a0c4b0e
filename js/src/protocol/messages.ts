/** Version 2's frame, the view's side: which answer each command gets, and the envelope around both. */
import type { FromUi, ToUi } from "./types.gen";

export const VERSION = 2;
/** The WebSocket subprotocol that chooses version 2. */
export const SUBPROTOCOL = "agentstepper.v2";

export type CommandName = keyof FromUi;
/** What the Core sends unasked about breakpoints, edit rules and prices. */
export const BREAKPOINT_PUSH_NAMES = [
  "stop",
  "stop_gone",
  "edit_rule",
  "edit_rule_gone",
  "prices",
] as const;
/** What the Core sends unasked. */
const PUSH_NAMES = [
  "run",
  "run_gone",
  "row",
  "commit",
  "commit_changed",
  "note",
  "store",
  ...BREAKPOINT_PUSH_NAMES,
] as const satisfies readonly (keyof ToUi)[];
export type PushName = (typeof PUSH_NAMES)[number];

export const isPushName = (type: string): type is PushName =>
  (PUSH_NAMES as readonly string[]).includes(type);

/** The name of each command's answer, where it isn't an error. */
export interface Answers extends Record<CommandName, keyof ToUi> {
  hello: "hello";
  open_run: "run_opened";
  close_run: "ok";
  read_run: "run_opened";
  list_runs: "runs";
  get_rows: "rows";
  find_rows: "rows_found";
  get_commits: "commits";
  get_message: "message";
  get_change: "change";
  step: "ok";
  continue: "ok";
  approve: "ok";
  deny: "ok";
  skip: "ok";
  raise: "ok";
  guide: "ok";
  halt: "ok";
  stop: "ok";
  edit: "ok";
  set_stop: "ok";
  delete_stop: "ok";
  try_stop: "stop_tried";
  set_prices: "ok";
  set_edit_rule: "ok";
  delete_edit_rule: "ok";
  try_edit_rule: "edit_rule_tried";
  export_edit_rule: "edit_rule_exported";
  rename_run: "ok";
  tag_run: "ok";
  note: "ok";
  delete_run: "ok";
  export_run: "run_exported";
  import_run: "run_imported";
  search: "found";
  get_profile: "profile";
  get_model_info: "model_info";
  get_store: "store";
  get_overview: "overview";
  start_again: "started_again";
  list_forks: "forks";
  put_back: "files_put_back";
  get_stack: "stack";
  get_variables: "variables";
  evaluate: "evaluated";
  complete: "completions";
  enter_pdb: "pdb_ready";
  get_sampling: "sampling";
  sample_query: "sampled";
  start_bisect: "bisect";
  get_bisect: "bisect";
  answer_bisect: "bisect";
  cancel_bisect: "bisect";
  export_test: "test_exported";
}
export type AnswerTo<C extends CommandName> = ToUi[Answers[C]];

/** A message in its envelope; its body is believed to be what its type says. */
export interface Envelope {
  n: number;
  type: string;
  id?: string;
  body: unknown;
}

/** Encode one command. */
export function encode<C extends CommandName>(n: number, type: C, id: string, body: FromUi[C]) {
  return JSON.stringify({ n, type, id, body });
}

/** The envelope of a message of the Core; null where it is none. */
export function decode(text: string): Envelope | null {
  try {
    const envelope: unknown = JSON.parse(text);
    return isEnvelope(envelope) ? envelope : null;
  } catch {
    return null;
  }
}

function isEnvelope(value: unknown): value is Envelope {
  return (
    typeof value === "object" &&
    value !== null &&
    "type" in value &&
    typeof value.type === "string" &&
    "body" in value
  );
}
