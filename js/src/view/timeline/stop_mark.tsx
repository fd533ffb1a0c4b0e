/** What stops made of a row: that one halted there, that it was only logged, or that its condition failed. */
import { Icon } from "../../icons/icon";
import type { Row } from "../../model/model";
import type { Stops } from "../../model/stops";
import { visible } from "../visible";

interface StopMarkProps {
  row: Row;
  stops: Stops;
}

export const hasStopMark = ({ stops, stop_error }: Row): boolean =>
  stops.length > 0 || stop_error !== null;

export function StopMarks({ row, stops }: StopMarkProps) {
  return (
    <>
      {row.stops.length > 0 && <Hit ids={row.stops} stops={stops} />}
      {row.stop_error !== null && (
        <span
          class="as-Bad"
          role="img"
          aria-label="a stop’s condition failed"
          title={`A stop’s condition failed here: ${visible(row.stop_error)}`}
        >
          <Icon name="warn" small />
        </span>
      )}
    </>
  );
}

function Hit({ ids, stops }: { ids: readonly string[]; stops: Stops }) {
  const logged = stops.onlyLog(ids);
  const noun = ids.length === 1 ? "stop" : "stops";
  return (
    <span
      class={logged ? "as-Muted" : "as-You"}
      role="img"
      aria-label={logged ? "logged by a stop" : "hit by a stop"}
      title={`${logged ? "Logged by" : "Hit by"} the ${noun} ${stops.named(ids)}`}
    >
      <Icon name={logged ? "system" : "halted"} small />
    </span>
  );
}
