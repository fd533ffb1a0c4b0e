/** AutoChat's switch, with how far it has gone on by itself. */
import { cx } from "../view/classes";
import type { ChatModel } from "./model";

export function AutoChat({ model }: { model: ChatModel }) {
  const info = model.info.value;
  const on = info?.auto_chat ?? false;
  const most = info?.auto_chat_max ?? 0;
  const held = model.barred.value ?? (info === null ? "The conversation is being opened" : null);
  const turns = `${info?.auto_turns ?? 0} of ${most}`;
  return (
    <button
      type="button"
      class={cx("as-Button as-ChatAuto", on && "as-mod-on")}
      role="switch"
      aria-checked={on}
      aria-disabled={held !== null ? true : undefined}
      aria-label={`AutoChat, ${turns}`}
      title={held ?? means(most)}
      onClick={() => {
        if (held === null) void model.set({ auto_chat: !on });
      }}
    >
      <span class="as-ChatAuto-track" aria-hidden="true" />
      <span class="as-ChatLabel">AutoChat</span>
      <span class="as-ChatAuto-short">Auto</span>
      <span class="as-ChatAuto-turns as-Small">{turns}</span>
    </button>
  );
}

function means(most: number): string {
  const times = most === 1 ? "once" : `${most.toLocaleString("en-US")} times`;
  return (
    `AutoChat: after an answer the agent is asked to go on by itself, at most ${times} until you say ` +
    "something. A question to you, an error, or Stop ends it."
  );
}
