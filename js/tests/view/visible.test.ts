import { expect, test } from "vitest";
import { hiddenIn, visible } from "../../src/view/words";
import table from "../helpers/hidden_characters.json";

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

test("all code points are told as in Python", () => {
  const told = new Set<number>();
  for (const [first, last] of table) {
    for (let code = parseInt(first ?? "", 16); code <= parseInt(last ?? "", 16); code++)
      told.add(code);
  }
  const others: string[] = [];
  for (let code = 0; code < 0x110000; code++) {
    const hides = hiddenIn(`a${String.fromCodePoint(code)}`).length > 0;
    if (hides !== told.has(code)) others.push(code.toString(16));
  }
  expect(others).toEqual([]);
});

test("what was not in a list is seen", () => {
  const named = "\u200e\u00ad\u2028\u3164\u034f\u{e0041}";
  expect(hiddenIn(named)).toEqual(["U+200E", "U+00AD", "U+2028", "U+3164", "U+034F", "U+E0041"]);
  expect(visible("rm\u3164-rf\u{e0041}")).toBe("rm⟨U+3164⟩-rf⟨U+E0041⟩");
  expect(visible("a\u200db a\ufe0f")).toBe("a⟨U+200D⟩b a⟨U+FE0F⟩");
});

test("emoji and scripts keep what they are written with", () => {
  for (const text of ["❤\ufe0f\u200d🔥", "1\ufe0f\u20e3", "می\u200cخواهم"]) {
    expect(visible(text)).toBe(text);
  }
});
