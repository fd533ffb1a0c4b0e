/** What would be allowed from now on, as the agent words it: what stands between backticks is code. */
import { visible } from "../view/visible";

export function Rule({ rule }: { rule: string }) {
  const parts = visible(rule).split("`");
  return (
    <bdi>{parts.map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))}</bdi>
  );
}
