/** Bytes to something that an `img` may show. Nothing else than these four types ever becomes one. */
import type { Picture } from "../types";

const SHOWN: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** The picture's bytes; null where they are none that may be shown. */
export function bytesOf({ media_type, data }: Picture): Blob | null {
  if (!SHOWN.has(media_type)) return null;
  try {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    return bytes.length > 0 ? new Blob([bytes], { type: media_type }) : null;
  } catch {
    return null;
  }
}
