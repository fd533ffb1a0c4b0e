/** The line to the Core's runtime. */
import { Line } from "../client/line";
import type { AskRuntime, RuntimeTells } from "../protocol/runtime.gen";

/** Asks the runtime, and hears of its topics: each begins with a notice `begin`, on each connection. */
export class RuntimeLine extends Line<AskRuntime, RuntimeTells, "watch"> {}

/** The runtime's service, by its name on a line. */
export const SERVICE = "runtime";
