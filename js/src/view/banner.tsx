/** How the run ended. It stands below, so that nothing moves for it. */
import type { Debugger } from "../model/debugger";
import type { EndedProps } from "./ended";
import { lazy } from "./lazy";

export function Banner({ model }: { model: Debugger }) {
  const run = model.run.value;
  return run?.ending ? <Ended key={run.id} model={model} run={run} /> : null;
}

/** Its two lines are kept free until it is here. */
const Ended = lazy<EndedProps>(
  async () => (await import("./ended")).Ended,
  <div class="as-Banner">
    <div class="as-Banner-text">
      <b>Ended</b>
      <span class="as-Small">…</span>
    </div>
  </div>,
);
