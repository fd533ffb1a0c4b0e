/** What the first bytes of an image say of it: a browser is given none that they don't vouch for. */
import { useEffect, useState } from "preact/hooks";

export interface ImageHeader {
  /** PNG, JPEG, GIF or WebP; nothing else is ever shown. */
  readonly type: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  readonly width: number;
  readonly height: number;
}

/** Read an image's kind and size; null where it is none of the four kinds, or is cut off. */
export function imageHeader(bytes: Uint8Array): ImageHeader | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return png(view) ?? gif(view) ?? webp(view) ?? jpeg(view);
  } catch {
    return null; // it ends too soon
  }
}

function png(view: DataView): ImageHeader | null {
  if (view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a) return null;
  if (text(view, 12, 4) !== "IHDR") return null;
  return { type: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
}

function gif(view: DataView): ImageHeader | null {
  if (!/^GIF8[79]a$/.test(text(view, 0, 6))) return null;
  return { type: "image/gif", width: view.getUint16(6, true), height: view.getUint16(8, true) };
}

function webp(view: DataView): ImageHeader | null {
  if (text(view, 0, 4) !== "RIFF" || text(view, 8, 4) !== "WEBP") return null;
  const type = "image/webp";
  const uint24 = (at: number) => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  switch (text(view, 12, 4)) {
    case "VP8X":
      return { type, width: uint24(24) + 1, height: uint24(27) + 1 };
    case "VP8L": {
      const bits = view.getUint32(21, true);
      return { type, width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
    }
    case "VP8 ":
      return {
        type,
        width: view.getUint16(26, true) & 0x3fff,
        height: view.getUint16(28, true) & 0x3fff,
      };
    default:
      return null;
  }
}

/** The frame's header says the size: the segments before it are passed over. */
function jpeg(view: DataView): ImageHeader | null {
  if (view.getUint16(0) !== 0xffd8) return null;
  for (let at = 2; ; ) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame)
      return { type: "image/jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
  }
}

function text(view: DataView, at: number, length: number): string {
  return Array.from({ length }, (_, n) => String.fromCharCode(view.getUint8(at + n))).join("");
}

/** The bytes that a base64 text stands for; throws where it is none. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

// ---- Addresses of bytes that are at hand.

/** An address for the blob, as long as it is shown. */
export function useObjectUrl(blob: Blob | null): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (!blob) return;
    const made = URL.createObjectURL(blob);
    setAddress(made);
    return () => {
      setAddress(null);
      URL.revokeObjectURL(made);
    };
  }, [blob]);
  return address;
}
