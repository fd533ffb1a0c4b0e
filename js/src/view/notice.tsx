/** What a person must know of the whole run, in its agent's words: that its commands have no sandbox, say. */
import { Icon } from "../icons/icon";
import { visible } from "./visible";

export function RunNotice({ notice }: { notice: string }) {
  const text = visible(notice);
  const [warning, ...rest] = text.split(":");
  if (!warning) return null;
  return (
    <span class="as-Tag as-RunNotice" title={text}>
      <Icon name="warn" small />
      <span class="as-Ellipsis">{warning}</span>
      {rest.length > 0 && <span class="as-Hidden">{`:${rest.join(":")}`}</span>}
    </span>
  );
}
