/** One message: who says it, how large it is, what it says. */
import { useState } from "preact/hooks";
import { Icon, type IconName } from "../../icons/icon";
import { cx } from "../../view/classes";
import { visible } from "../../view/visible";
import { size } from "../../view/words";
import type { Message } from "../read/types";
import { textBytes } from "../words";
import { looksMarked, Parts } from "./part";

/** Orange is kept for the person at this view: a message of the user's is the program's own. */
const LOOKS: Record<string, { icon: IconName; actor: string }> = {
  assistant: { icon: "llm", actor: "llm" },
  model: { icon: "llm", actor: "llm" },
  user: { icon: "user", actor: "agent" },
  tool: { icon: "tools", actor: "tools" },
  function: { icon: "tools", actor: "tools" },
};
const OTHER = { icon: "system", actor: "system" } as const;

interface ShownMessageProps {
  message: Message;
  /** Not in the prompt before. */
  fresh?: boolean;
  /** At the right edge, instead of the message's size. */
  figure?: string | undefined;
}

export function ShownMessage({ message, fresh, figure }: ShownMessageProps) {
  const look = LOOKS[message.role] ?? OTHER;
  const [marked, setMarked] = useState(false);
  const isProse = look.actor !== "tools";
  const markable =
    isProse && message.parts.some((part) => part.kind === "text" && looksMarked(part.text));
  return (
    <article class={cx("as-Message", fresh && "as-mod-new")}>
      <div class="as-Message-head">
        <span class={`as-Actor as-mod-${look.actor}`}>
          <Icon name={look.icon} small />
          <b class="as-Ellipsis">{visible(message.role)}</b>
        </span>
        {message.name && <span class="as-Muted as-Code as-Ellipsis">{visible(message.name)}</span>}
        <span class="as-Spring" />
        {markable && (
          <button
            type="button"
            class="as-Link as-Small"
            title={marked ? "Show the text as it was sent" : "Show the text as Markdown"}
            onClick={() => setMarked(!marked)}
          >
            {marked ? "As text" : "Markdown"}
          </button>
        )}
        <span class="as-Message-figure as-Muted as-Ellipsis" title={figure}>
          {figure ?? size(textBytes(message.source))}
        </span>
      </div>
      <div class="as-Message-body">
        <Parts parts={message.parts} code={!isProse} marked={marked} />
      </div>
    </article>
  );
}
