// What is made of a text is tested in a browser (tests/e2e/test_markdown.py): DOMPurify needs a true document.
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeAll, expect, test, vi } from "vitest";
import { Inspector } from "../../src/inspector";
import { box as host, useBox } from "../helpers/dom";
import { fakeModel, row } from "./fake_model";

// Else the first test waits for them to be compiled.
beforeAll(async () => {
  await import("../../src/inspector/contents");
  await import("../../src/inspector/markdown");
});

useBox();

test("a message is shown as Markdown where a person asks, and as text again", async () => {
  const message = { role: "assistant", content: "Do **this**, <b>not</b> that." };
  const model = fakeModel([[row({ id: "a", side: "end" }), { data: JSON.stringify(message) }]]);
  await act(async () => render(<Inspector model={model} />, host));
  const button = (name = "Markdown") =>
    [...host.querySelectorAll("button")].find((one) => one.textContent === name);
  await vi.waitFor(() => expect(button()).toBeDefined());
  expect(host.querySelector("strong")).toBeNull();
  await act(async () => button()?.click());
  await vi.waitFor(() => expect(host.querySelector("strong")?.textContent).toBe("this"));
  expect(host.querySelector(".as-Message-body b")).toBeNull();
  expect(host.textContent).toContain("<b>not</b>");
  await act(async () => button("As text")?.click());
  expect(host.querySelector("strong")).toBeNull();
  expect(host.textContent).toContain("Do **this**");
});

test("what has no sign of Markdown, and what tools say, offers none", async () => {
  const messages = [
    { role: "user", content: "Plain words." },
    { role: "tool", content: "**loud**" },
  ];
  const model = fakeModel([[row({ id: "a" }), { data: JSON.stringify(messages) }]]);
  await act(async () => render(<Inspector model={model} />, host));
  await vi.waitFor(() => expect(host.textContent).toContain("Plain words."));
  expect(host.textContent).not.toContain("Markdown");
});
