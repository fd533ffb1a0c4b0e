/** IMAGE: its bytes come through the kernel, never from an address that an agent names. */
import { useMemo, useState } from "preact/hooks";
import { escapeInvisible, formatSize } from "../../view/format";
import { bytesOf, useObjectUrl } from "../../view/images";
import type { ChatImage, ShownMessage, TranscriptModel } from "../types";
import { ContentUnavailable, useFetched } from "./code";

// ---- Bytes to something that an `img` may show. Nothing else than these four types ever
// becomes one.

const SHOWN: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The picture's bytes; null where they are none that may be shown. */
function blobOf({ media_type, data }: ChatImage): Blob | null {
  if (!SHOWN.has(media_type)) return null;
  try {
    const bytes = bytesOf(data);
    return bytes.length > 0 ? new Blob([bytes], { type: media_type }) : null;
  } catch {
    return null;
  }
}

interface ImageProps {
  model: TranscriptModel;
  message: ShownMessage;
  /** Show it as large as there is room. */
  onEnlarge(shown: Enlarged): void;
}

/** A picture that is looked at alone. */
export interface Enlarged {
  readonly blob: Blob;
  readonly alt: string;
}

const FAILED = "The picture can’t be shown";
const BROKEN =
  "The file isn’t a PNG, JPEG, GIF or WebP that a browser can read: its bytes are damaged, or of another format.";

export function Image({ model, message, onEnlarge }: ImageProps) {
  const { id, path, content } = message;
  const { ref, fetched, retry } = useFetched(id, () => model.loadImage(id));
  const note = path !== null && (
    <span class="as-Muted as-Ellipsis as-PathStart" title={escapeInvisible(path)}>
      <bdi>{escapeInvisible(path)}</bdi>
    </span>
  );
  return (
    <div ref={ref} class="as-Image">
      {fetched.kind === "failed" ? (
        <ContentUnavailable what={FAILED} why={fetched.why} retry={retry} note={note} />
      ) : fetched.kind === "waiting" ? (
        <div class="as-Image-room as-Muted as-Late">The picture is on its way…</div>
      ) : (
        <Shown image={fetched.value} message={message} note={note} onEnlarge={onEnlarge} />
      )}
      {content && content !== path && (
        <p class="as-Text as-Muted as-Small">{escapeInvisible(content)}</p>
      )}
    </div>
  );
}

interface ShownProps {
  image: ChatImage;
  message: ShownMessage;
  note: preact.ComponentChildren;
  onEnlarge(shown: Enlarged): void;
}

function Shown({ image, message, note, onEnlarge }: ShownProps) {
  const blob = useMemo(() => blobOf(image), [image]);
  const address = useObjectUrl(blob);
  const [broken, setBroken] = useState(false);
  const [sides, setSides] = useState("");
  if (!blob || broken) return <ContentUnavailable what={FAILED} why={BROKEN} note={note} />;
  const alt = escapeInvisible(message.content) || altOf(message);
  return (
    <>
      <button
        type="button"
        class="as-Image-button"
        title="Enlarge"
        aria-label={`Enlarge: ${alt}`}
        onClick={() => onEnlarge({ blob, alt })}
      >
        {address && (
          <img
            src={address}
            alt={alt}
            onError={() => setBroken(true)}
            onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
              setSides(`${naturalWidth} × ${naturalHeight}`)
            }
          />
        )}
      </button>
      <p class="as-Image-about as-Muted as-Small">
        <span>
          {[kindOf(image.media_type), sides, formatSize(blob.size)].filter(Boolean).join(" · ")}
        </span>
        {note}
      </p>
    </>
  );
}

const kindOf = (type: string) => type.slice("image/".length).toUpperCase();

/** What is said of a picture of which nothing is said. */
function altOf({ agent_name, path }: ShownMessage): string {
  const name = path?.split(/[\\/]/).at(-1);
  if (name) return escapeInvisible(name);
  return agent_name === null ? "Picture" : `Picture of ${escapeInvisible(agent_name)}`;
}
