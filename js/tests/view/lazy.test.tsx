import { render } from "preact";
import { expect, test, vi } from "vitest";
import { lazy } from "../../src/view/lazy";
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
