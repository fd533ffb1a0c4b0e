/** A run as a test: what is asked of the Core, and what is told. */
import { render } from "preact";
import { expect, test } from "vitest";
import { argumentsOf, fileName, TestExportSection } from "../../src/forks/test_export";
import { aModel } from "../helpers/debugger";
import { box, drawn, useBox } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";
import { endedRun, rowsTo } from "../helpers/values";

useBox();

const { all, button, click, one, type } = queriesOf(() => box, drawn);

async function shown() {
  const made = aModel({ run: "a" });
  const run = { ...endedRun("a"), program: "My agent.py" };
  await made.peer.greet([run]);
  await made.opens(run, rowsTo(2));
  const tree = { nodes: [], more: 0, restored: [] };
  render(<TestExportSection model={made.model} tree={tree} onChanged={() => {}} />, box);
  await drawn();
  return made;
}

test("the test is written, and its path shown", async () => {
  const { peer } = await shown();
  expect(button("Write the test").title).toBe("Name the agent’s function as module:function");
  const [agent, file] = all("input[type=text]");
  await type(agent as HTMLElement, "agent:answer");
  expect((file as HTMLInputElement).value).toBe("test_my_agent.py");
  await type("textarea", 'What is it?\n\n{"n": 1}\n');
  (one("input[type=checkbox]") as HTMLInputElement).click();
  await drawn();
  await click(button("Write the test"));
  const sent = peer.take("export_test");
  expect(sent.body).toEqual({
    run: "a",
    agent: "agent:answer",
    args: ["What is it?", '{"n": 1}'],
    file: "test_my_agent.py",
    replaces: true,
  });
  expect(button("Writing…").title).toBe("The agent is being replayed");
  await peer.answer(sent, "test_exported", { path: "/home/me/test_my_agent.py" });
  await drawn();
  expect(box.querySelector("[role=status] bdi")?.textContent).toBe("/home/me/test_my_agent.py");
});

test("why it can't be written is shown whole", async () => {
  const { peer } = await shown();
  await type("input[type=text]", "agent:answer");
  await click(button("Write the test"));
  const refused = "This Core doesn't know. Type agentstepper export --pytest a";
  await peer.refuse(peer.take("export_test"), "cannot_export_test", refused);
  await drawn();
  expect(box.querySelector("[role=alert]")?.textContent).toBe(refused);
});

test("a file that pytest wouldn't find can't be written", async () => {
  await shown();
  await type("input[type=text]", "agent:answer");
  await type(all("input[type=text]")[1] as HTMLElement, "my_test.py");
  expect(button("Write the test").title).toBe("Call the file test_….py");
});

test("each line is an argument, and a program's name a file's", () => {
  expect(argumentsOf(" a \n\nb")).toEqual(["a", "b"]);
  expect(fileName({ program: "---" })).toBe("test_agent.py");
  expect(fileName({ program: "fix-tests.py" })).toBe("test_fix_tests.py");
});
