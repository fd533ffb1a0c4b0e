import { signal } from "@preact/signals";
import { render } from "preact";
import { expect, test, vi } from "vitest";
import { LinkLost } from "../../src/client/core_client";
import type { Connection } from "../../src/model/model";
import { lazy, useLoaded } from "../../src/view/lazy";
import { drawn, box as host, useBox } from "../helpers/dom";

useBox();

const Greeting = ({ name }: { name: string }) => <p>Hello {name}</p>;
const again = () =>
  [...host.querySelectorAll("button")].find((one) => one.textContent === "Try again");

test("a part that could not be loaded says so, and is loaded again on request", async () => {
  let broken = true;
  const load = vi.fn(async () => {
    if (broken) throw new TypeError("Failed to fetch");
    return Greeting;
  });
  const Part = lazy(load, <p>Loading</p>);
  render(<Part name="you" />, host);
  await drawn();
  expect(host.textContent).toContain("could not be loaded");
  again()?.click();
  await drawn();
  expect(load).toHaveBeenCalledTimes(2);
  expect(host.textContent).toContain("could not be loaded");
  broken = false;
  again()?.click();
  expect(host.textContent).not.toContain("Hello");
  await drawn();
  expect(host.textContent).toBe("Hello you");
});

test("a part is fetched once, however often it is drawn or asked for", async () => {
  const load = vi.fn(async () => Greeting);
  const Part = lazy(load);
  Part.fetch();
  render(
    <>
      <Part name="you" />
      <Part name="me" />
    </>,
    host,
  );
  await drawn();
  expect(host.textContent).toBe("Hello youHello me");
  expect(load).toHaveBeenCalledTimes(1);
});

test("a part that was asked for ahead in vain is asked for again once it is drawn", async () => {
  const load = vi.fn(async () => Greeting).mockRejectedValueOnce(new TypeError());
  const Part = lazy(load);
  Part.fetch();
  await drawn();
  render(<Part name="you" />, host);
  await drawn();
  expect(host.textContent).toBe("Hello you");
});

test("what stands around a missing part goes when it comes", async () => {
  const Frame = ({ name, children }: { name: string; children?: preact.ComponentChildren }) => (
    <section>
      {name} {children}
    </section>
  );
  const Part = lazy(async () => Greeting, <i>soon</i>, Frame);
  render(<Part name="you" />, host);
  expect(host.innerHTML).toBe("<section>you <i>soon</i></section>");
  await drawn();
  expect(host.innerHTML).toBe("<p>Hello you</p>");
});

const OPEN: Connection = { kind: "open", control: true, core: "" };
const LOST: Connection = { kind: "lost", attempt: 1, retryInMs: 1000 };

/** What a key stands for, beside a field that a person writes in. */
function loading() {
  const connection = signal<Connection>(OPEN);
  const model = { connection };
  const load = vi.fn(async (key: string) => {
    if (connection.peek().kind !== "open") throw new LinkLost();
    return `contents of ${key}, ${load.mock.calls.length}`;
  });
  function Loaded({ of }: { of: string }) {
    const state = useLoaded(model, of, () => load(of));
    if (state.kind !== "ready") return <p>{state.kind}</p>;
    return <textarea aria-label={state.value} />;
  }
  const show = async (key: string) => {
    render(<Loaded of={key} />, host);
    await drawn();
    return host.querySelector("textarea");
  };
  const set = async (next: Connection) => {
    connection.value = next;
    await drawn();
  };
  return { load, show, set };
}

test("what is here stays while the link is away, and is asked for again when it is back", async () => {
  const { show, set, load } = loading();
  const field = await show("a");
  if (field) field.value = "written";
  await set(LOST);
  expect(host.querySelector("textarea")).toBe(field);
  const asked = load.mock.calls.length;
  await set(OPEN);
  expect(host.querySelector("textarea")).toBe(field);
  expect([field?.value, field?.getAttribute("aria-label")]).toEqual([
    "written",
    `contents of a, ${asked + 1}`,
  ]);
});

test("what another key stands for isn't shown while the link is away", async () => {
  const { show, set } = loading();
  await show("a");
  await set(LOST);
  expect(await show("b")).toBeNull();
  expect(host.textContent).toBe("failed");
  await set(OPEN);
  expect(host.querySelector("textarea")).not.toBeNull();
});

test("a failure with the link open replaces what was here", async () => {
  const { show, set, load } = loading();
  await show("a");
  load.mockRejectedValue(new Error("gone"));
  await set(LOST);
  await set(OPEN);
  expect(host.textContent).toBe("failed");
});
