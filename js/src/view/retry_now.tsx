/** A button to connect now, while the link doesn't stand. */
import type { ReadonlySignal } from "@preact/signals";
import type { Connection } from "../model/model";
import { obstacle } from "../model/status";
import { Button } from "./button";

/** What keeps a link up. */
interface Line {
  readonly connection: ReadonlySignal<Connection>;
  retry(): void;
}

/** `label` is the class of its words, which hides them where there is no room. */
export function RetryNow({ line, label }: { line: Line; label: string }) {
  const connection = line.connection.value;
  if (connection.kind !== "lost" && !obstacle(connection)) return null;
  return (
    <Button
      outline
      icon="retry"
      name="Retry now"
      hint="Connect now"
      class="as-Retry"
      onClick={() => line.retry()}
    >
      <span class={label}>Retry now</span>
    </Button>
  );
}
