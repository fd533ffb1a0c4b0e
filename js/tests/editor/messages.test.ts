import { describe, expect, test } from "vitest";
import { EditSession } from "../../src/editor/session";
import { compact } from "../inspector/compact";
import { seeded } from "../inspector/random_json";

const one = (role: string, content: string) => ({ role, content });
const PROMPT = [one("system", "Be brief."), one("user", "Hi"), one("assistant", "Ho")];
const WHOLE = `{"model": "m", "temperature": 1.0, "messages": ${JSON.stringify(PROMPT)}}`;

const begin = (text: string) => new EditSession("prompt", text, text);
const said = (session: EditSession) =>
  session.fields.value.filter(({ label }) => label === "content").map(({ value }) => value.string);
const changed = (session: EditSession) => session.changed.value.map(({ id }) => id);

describe("messages", () => {
  test.each([0, 1, 2])("message %i is deleted, and nothing else differs", (at) => {
    const session = begin(WHOLE);
    session.removeMessage(at);
    const rest = PROMPT.toSpliced(at, 1);
    expect(compact(session.text)).toBe(
      compact(WHOLE.replace(JSON.stringify(PROMPT), JSON.stringify(rest))),
    );
    expect(changed(session)).toEqual([]);
    expect(session.draft.value).not.toBeNull();
  });

  test("all can be deleted, and one added again", () => {
    const session = begin(JSON.stringify(PROMPT));
    for (let left = PROMPT.length; left > 0; left -= 1) session.removeMessage(0);
    expect(JSON.parse(session.text)).toEqual([]);
    session.addMessage("user");
    expect(JSON.parse(session.text)).toEqual([one("user", "")]);
  });

  test("a moved message is itself wherever it stands", () => {
    const session = begin(WHOLE);
    session.swapMessages(0);
    session.swapMessages(1);
    expect(said(session)).toEqual(["Hi", "Ho", "Be brief."]);
    expect(changed(session)).toEqual([]);
    const [, , last] = session.fields.value;
    if (last) session.setField(last, "Be long.");
    expect(changed(session)).toEqual(["messages.2.content"]);
    const [now] = session.changed.value;
    expect(now && session.originalOf(now)?.value.string).toBe("Be brief.");
    if (now) session.restore(now);
    session.swapMessages(1);
    session.swapMessages(0);
    expect(session.draft.value).toBeNull();
  });

  test("an added message is the person's, and the others are what they were", () => {
    const session = begin(WHOLE);
    session.addMessage("user");
    expect(changed(session)).toEqual(["messages.3.content"]);
    const added = session.fields.value.find(({ id }) => id === "messages.3.content");
    if (!added) throw new Error("it has no field");
    session.setField(added, "And you?");
    session.swapMessages(2);
    expect(said(session)).toEqual(["Be brief.", "Hi", "And you?", "Ho"]);
    expect(changed(session)).toEqual(["messages.2.content"]);
    const now = session.fields.value.find(({ id }) => id === "messages.2.content");
    expect(now && session.originalOf(now)).toBeUndefined();
    expect(session.text).toContain(
      '\n    {\n      "role": "user",\n      "content": "And you?"\n    }',
    );
  });

  test("the order of random changes is that of a list", () => {
    const random = seeded(7);
    const expected = [...PROMPT];
    const session = begin(WHOLE);
    for (let round = 0; round < 200; round += 1) {
      const at = Math.floor(random() * expected.length);
      const act = Math.floor(random() * 3);
      if (act === 0) {
        session.addMessage("assistant");
        expected.push(one("assistant", ""));
      } else if (act === 1) {
        session.removeMessage(at);
        expected.splice(at, 1);
      } else if (at + 1 < expected.length) {
        session.swapMessages(at);
        expected.splice(at, 2, ...expected.slice(at, at + 2).reverse());
      }
      expect(JSON.parse(session.text).messages).toEqual(expected);
    }
    expect(session.text).toContain('"temperature": 1.0');
  });

  test("none changes while the JSON is wrong, and only prompts have a list of them", () => {
    const session = begin(WHOLE);
    session.setText(`${session.text}}`);
    const { text } = session;
    session.removeMessage(0);
    session.addMessage("user");
    expect(session.text).toBe(text);
    expect(session.messagesDisabledReason.value).not.toBeNull();
    expect(new EditSession("answer", "[]", "[]").messages.value).toBeNull();
    expect(begin('"Hi"').messages.value).toBeNull();
    expect(begin("[1]").messages.value).toBeNull();
  });
});
