import { describe, expect, test } from "vitest";
import { base64, bytesOf, fileName, wireText } from "../../src/history/edit";

describe("a file's name", () => {
  test.each([
    ["fix-tests · run 3", "run", "fix-tests · run 3.run"],
    ["fix.run", "run", "fix.run"],
    ["x", "archive", "x.agentstepper.zip"],
    ["../../etc/passwd", "run", "_.._etc_passwd.run"],
    ['a\u0000b:"c"', "run", "a_b_c_.run"],
    [" .. ", "run", "run.run"],
    ["n".repeat(300), "run", `${"n".repeat(120)}.run`],
  ] as const)("of %s", (name, format, wanted) => {
    expect(fileName({ name, format })).toBe(wanted);
  });
});

describe("a file on its way to the Core", () => {
  test("is the text that it is", async () => {
    expect(await wireText(new Blob(["eJyrVg==\n"]))).toBe("eJyrVg==");
  });

  test("is base64 where it is a zip, whatever its name", async () => {
    const bytes = new Uint8Array([0x50, 0x4b, 3, 4, 255, 0, 128]);
    expect(bytesOf(await wireText(new Blob([bytes])))).toEqual(bytes);
  });

  test("may be large", () => {
    const bytes = Uint8Array.from({ length: 200_001 }, (_, at) => at % 251);
    const back = bytesOf(base64(bytes));
    expect(back.length).toBe(bytes.length);
    expect(back.every((byte, at) => byte === bytes[at])).toBe(true);
  });
});
