/** One message: who says it, and its type's own way of being shown. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Icon } from "../../icons/icon";
import { escapeInvisible, formatClock } from "../../view/format";
import { cx } from "../../view/hooks";
import type { ShownMessage, TranscriptModel } from "../types";
import { Call, Confirmation, Json } from "./call";
import { Code, Console } from "./code";
import { type Enlarged, Image } from "./image";
import { FormattedText } from "./rich";
import { roleLabel, speakerOf } from "./rows";

interface MessageProps {
  model: TranscriptModel;
  message: ShownMessage;
  head: boolean;
  onEnlarge(image: Enlarged): void;
}

/** Drawn again only when something of it has changed: much is said while others are read. */
export function Message({ model, message, head, onEnlarge }: MessageProps) {
  return useMemo(
    () => (
      <article
        class={cx("as-Said", `as-mod-${message.role}`, head && "as-mod-head")}
        data-message={message.id}
        aria-busy={message.streaming}
      >
        {head && <Head model={model} message={message} />}
        <div class="as-Said-body">
          <Body model={model} message={message} onEnlarge={onEnlarge} />
        </div>
      </article>
    ),
    [model, message, head],
  );
}

function Head({ model, message }: { model: TranscriptModel; message: ShownMessage }) {
  const { name, icon, style, role, recipient } = speakerOf(message, model.info.value?.agents ?? []);
  return (
    <div class={`as-Said-head as-Small as-mod-${style}`}>
      <Icon name={icon} small />
      <b class="as-Ellipsis" title={name}>
        {name}
      </b>
      {role !== null && (
        <span class="as-Tag as-Ellipsis" title={`Role ${escapeInvisible(role)}`}>
          {roleLabel(role)}
        </span>
      )}
      {recipient !== null && (
        <span class="as-Muted as-Ellipsis" title={recipient}>
          to <bdi>{recipient}</bdi>
        </span>
      )}
      <span class="as-Spring" />
      <time class="as-Muted">{formatClock(message.created_at)}</time>
    </div>
  );
}

type BodyProps = Omit<MessageProps, "head">;

function Body({ model, message, onEnlarge }: BodyProps): ComponentChildren {
  switch (message.type) {
    case "MESSAGE":
      return <MessageText message={message} />;
    case "CODE":
      return <Code model={model} message={message} />;
    case "CONSOLE":
      return <Console message={message} />;
    case "IMAGE":
      return <Image model={model} message={message} onEnlarge={onEnlarge} />;
    case "CONFIRMATION":
      return <Confirmation model={model} message={message} />;
    case "FUNCTION":
      return <Call message={message} />;
    default:
      return <Unknown message={message} />;
  }
}

function MessageText({ message: { content, format, streaming } }: { message: ShownMessage }) {
  if (format !== "error") {
    return <FormattedText text={content || (streaming ? "" : "(no text)")} streaming={streaming} />;
  }
  return (
    <div class="as-Failure">
      <Icon name="crash" />
      <div>
        <FormattedText text={content || "The turn failed and gave no reason."} />
      </div>
    </div>
  );
}

/** A type of an extension that this view has not heard of. */
function Unknown({ message: { type, content, details } }: { message: ShownMessage }) {
  return (
    <div class="as-UnknownType">
      <p class="as-Muted as-Small">
        This view doesn’t know messages of type <code class="as-Code">{escapeInvisible(type)}</code>
        : what they say is shown as text. Upgrade agentstepper_nb and reload the page.
      </p>
      {content && <FormattedText text={content} />}
      {details !== null && details !== undefined && <Json label="Details" value={details} />}
    </div>
  );
}
