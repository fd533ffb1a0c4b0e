/** Which stops the agent is halted at: in narrow views, whose header has no room to say it. */
import { Icon } from "../icons/icon";
import type { Model, Row } from "../model/model";
import { visible } from "../view/visible";

export function HaltReason({ model, row }: { model: Model; row: Row }) {
  if (!row.pending || row.stops.length === 0) return null;
  return (
    <p class="as-HaltReason as-Small">
      <Icon name="halted" small />
      <span>{`Halted at the stop ${visible(model.stops.named(row.stops))}`}</span>
    </p>
  );
}
