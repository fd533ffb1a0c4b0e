import { expect, test } from "vitest";
import { imageHeader } from "../../src/view/images";

const bytes = (base64: string) => Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const GIF = "R0lGODlhAgADAIAAAAAAAP///yH5BAEAAAAALAAAAAACAAMAAAIChAsAOw==";
const WEBP = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==";

test.each([
  ["PNG", PNG, { type: "image/png", width: 1, height: 1 }],
  ["GIF", GIF, { type: "image/gif", width: 2, height: 3 }],
  ["WebP", WEBP, { type: "image/webp", width: 1, height: 1 }],
])("%s says its kind and size", (_, base64, header) => {
  expect(imageHeader(bytes(base64))).toEqual(header);
});

test("a JPEG's size stands in its frame, after other segments", () => {
  const segments = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xff, 0xc4, 0, 2];
  const frame = [0xff, 0xc2, 0, 11, 8, 1, 2, 3, 4, 1, 1, 0x11, 0];
  expect(imageHeader(Uint8Array.from([...segments, ...frame]))).toEqual({
    type: "image/jpeg",
    width: 0x0304,
    height: 0x0102,
  });
});

test.each([
  ["nothing", ""],
  ["SVG", btoa("<svg xmlns='http://www.w3.org/2000/svg'/>")],
  ["text", btoa("hello, this is no image at all, but long enough to be read as one")],
  ["a cut PNG", PNG.slice(0, 20)],
  ["a cut JPEG", btoa("\xff\xd8\xff\xe0\x00\x04")],
])("%s is no image", (_, base64) => {
  expect(imageHeader(bytes(base64))).toBeNull();
});
