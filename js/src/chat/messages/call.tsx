/** FUNCTION: a call and its result on one line, which opens. */
import { useMemo, useState } from "preact/hooks";
import { Icon, type IconName } from "../../icons/icon";
import { cx } from "../../view/classes";
import { useOwnId } from "../../view/hooks";
import { visible } from "../../view/visible";
import type { ShownMessage } from "../types";
import { briefly, Json, short } from "./json";

type Standing = "running" | "ok" | "failed" | "none";

const STANDINGS: Record<Standing, { icon: IconName; words: string }> = {
  running: { icon: "spin", words: "running" },
  ok: { icon: "check", words: "done" },
  failed: { icon: "cross", words: "failed" },
  none: { icon: "close", words: "no result" },
};

export function Call({ message }: { message: ShownMessage }) {
  const { name, content, result, call_id } = message;
  const [open, setOpen] = useState(false);
  const id = useOwnId();
  const standing = standingOf(message);
  const { icon, words } = STANDINGS[standing];
  const called = useMemo(() => briefly(message.arguments), [message.arguments]);
  const given = useMemo(() => (standing === "none" ? "" : short(result)), [result, standing]);
  const has = standing === "ok" || standing === "failed";
  return (
    <div class={cx("as-FunctionCall", `as-mod-${standing}`)}>
      <button
        type="button"
        class="as-FunctionCall-line"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        <Icon name={open ? "down" : "right"} small />
        <Icon name="tools" small />
        <code class="as-Code as-Ellipsis as-FunctionCall-name">
          <b>{visible(name ?? "") || "(no name)"}</b>
          <bdi>{`(${visible(called)})`}</bdi>
        </code>
        <span class="as-Spring as-Ellipsis as-Muted">
          {has && <bdi>{`→ ${visible(given)}`}</bdi>}
        </span>
        <span class="as-FunctionCall-standing">
          <Icon name={icon} small spin={standing === "running"} />
          {words}
        </span>
      </button>
      <div id={id} hidden={!open} class="as-FunctionCall-opened">
        {open && (
          <>
            {content && <p class="as-Text">{visible(content)}</p>}
            <Json label="Arguments" value={message.arguments} />
            {has && <Json label={standing === "failed" ? "Error" : "Result"} value={result} />}
            {call_id && <p class="as-Muted as-Small as-Text">{`Call ${visible(call_id)}`}</p>}
          </>
        )}
      </div>
    </div>
  );
}

function standingOf({ ok, result, streaming }: ShownMessage): Standing {
  if (ok === false) return "failed";
  if (ok === true || (result !== null && result !== undefined)) return "ok";
  return streaming ? "running" : "none";
}
