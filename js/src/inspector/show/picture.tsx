/** An image of a message, from the bytes in the message alone: nothing is ever fetched. */
import { useMemo, useState } from "preact/hooks";
import { type ImageHeader, imageHeader, useAddress } from "../../view/images";
import { size } from "../../view/words";

/** Larger ones are only named: a browser would take seconds, or all memory, to show them. */
const MOST_BYTES = 5 * 1024 * 1024;
const MOST_PIXELS = 40_000_000;

interface PictureProps {
  /** The bytes, as base64. */
  base64: string;
  /** What is said of it where it isn't shown. */
  words: string;
}

export function Picture({ base64, words }: PictureProps) {
  const found = useMemo(() => read(base64), [base64]);
  const address = useAddress(typeof found === "string" ? null : found.blob);
  const [broken, setBroken] = useState(false);
  if (typeof found === "string" || broken) {
    const why = typeof found === "string" ? found : "its bytes are broken";
    return <p class="as-Muted as-Small as-Text">{`${words} (not shown: ${why})`}</p>;
  }
  const { type, width, height } = found.header;
  const kind = type.slice("image/".length).toUpperCase();
  const about = `${kind} · ${width} × ${height} · ${size(found.blob.size)}`;
  return (
    <figure class="as-Picture">
      {address && <img src={address} alt={about} onError={() => setBroken(true)} />}
      <figcaption class="as-Muted as-Small">{about}</figcaption>
    </figure>
  );
}

interface Found {
  readonly blob: Blob;
  readonly header: ImageHeader;
}

/** The image, or why it isn't shown. */
function read(base64: string): Found | string {
  if ((base64.length * 3) / 4 > MOST_BYTES) return `larger than ${size(MOST_BYTES)}`;
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return "its bytes are broken";
  }
  const header = imageHeader(bytes);
  if (!header) return "it is no PNG, JPEG, GIF or WebP";
  if (header.width * header.height > MOST_PIXELS) return "it has too many pixels";
  return { blob: new Blob([bytes], { type: header.type }), header };
}
