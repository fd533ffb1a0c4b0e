import { expect, test } from "vitest";
import { hiddenIn, visible } from "../../src/view/visible";

test("what hides or turns text around is seen", () => {
  expect(visible("a\u202eb\x1b[31m\0\x7f\u200b")).toBe("a⟨U+202E⟩b␛[31m␀␡⟨U+200B⟩");
});

test("what a field can't show is named once each", () => {
  expect(hiddenIn("a\u202eb\0\0c\n")).toEqual(["U+202E", "U+0000"]);
  expect(hiddenIn("plain 👩‍👩‍👧‍👦")).toEqual([]);
});

test("white space, emoji and scripts stay as they are", () => {
  const text = "a\tb\r\n👩‍👩‍👧‍👦 שלום مرحبا";
  expect(visible(text)).toBe(text);
});
