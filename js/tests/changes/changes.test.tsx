import { signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test, vi } from "vitest";
import { Changes } from "../../src/changes";
import type { Commit, FileBody, Run } from "../../src/model/model";
import { box as host, useBox } from "../helpers/dom";
import { aCommit } from "../helpers/values";
import { type FakeModel, fakeModel, row } from "../inspector/fake_model";

useBox();

type FileChange = Commit["changes"][number];
const change = (path: string, more: Partial<FileChange> = {}): FileChange => ({
  path,
  kind: "changed",
  previous_path: null,
  added: 1,
  removed: 1,
  binary: false,
  size: null,
  digest: null,
  body: null,
  ...more,
});
const commit = (
  id: string,
  title: string,
  changes: FileChange[],
  more: Partial<Commit> = {},
): Commit => ({
  ...aCommit(id, { run: "r", at: 1_764_000_000, title, seq: 1, changes }),
  ...more,
});
const body = (before: string, after: string): FileBody => ({
  diff: "",
  previous_content: before,
  content: after,
});

const FIRST = commit("0000000aaaa", "Initialized repository", []);
const SECOND = commit(
  "1111111bbbb",
  "Round once",
  [
    change("src/cart.py"),
    change("src/old.py", { kind: "deleted", added: 0 }),
    change("src/new.py", { kind: "renamed", previous_path: "lib/new.py" }),
    change("model.bin", { kind: "added", binary: true, size: 200_000_000, digest: "d1g35t" }),
  ],
  { event: "e2", seq: 2 },
);

function model(commits: Commit[] = [FIRST, SECOND]): FakeModel {
  const made = fakeModel([
    [row({ id: "a", seq: 1, event: "e1" }), { data: "1" }],
    [row({ id: "b", seq: 2, event: "e2" }), { data: "2" }],
  ]);
  made.commits.value = commits;
  made.files.set("1111111bbbb src/cart.py", body("a\nb\n", "a\nc\n"));
  made.files.set("1111111bbbb src/new.py", body("same", "same"));
  return made;
}

const settled = () => act(async () => await new Promise((done) => setTimeout(done, 5)));
async function shown(of: FakeModel): Promise<void> {
  await act(async () => render(<Changes model={of} />, host));
  await settled();
}
const text = () => host.textContent ?? "";
const all = (selector: string) => [...host.querySelectorAll<HTMLElement>(selector)];
const item = (name: string) => {
  const found = all("[data-item]").find((one) => one.textContent?.includes(name));
  if (!found) throw new Error(`no ${name} in ${text()}`);
  return found;
};
const click = async (element: HTMLElement | undefined) => {
  await act(async () => element?.click());
  await settled();
};
const press = async (key: string) => {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  await act(async () => {
    document.activeElement?.dispatchEvent(event);
  });
  await settled();
};

test("the newest commit with something to see, its first file, before and after", async () => {
  await shown(model());
  // The first commit, which is empty, is no change.
  expect(all(".as-Commit").map((one) => one.getAttribute("aria-selected"))).toEqual(["true"]);
  expect(all(".as-Item").map((one) => one.textContent)).toEqual([
    "src",
    "cart.py+1−1M",
    "new.py ← lib/new.py+1−1R",
    "old.py−1D",
    "model.binbinaryA",
  ]);
  expect(all("td.d.t")[0]?.textContent).toContain("b");
  expect(all("td.a.t")[0]?.textContent).toContain("c");
});

test("before anything has changed nothing is chosen to read: what comes is shown", async () => {
  const made = model([FIRST]);
  made.run.value = { workspace: "/home/me/shop" } as Run;
  await shown(made);
  expect(text()).toContain("No commit yet");
  await act(async () => {
    made.commits.value = [FIRST, SECOND];
  });
  expect(item("Round once").getAttribute("aria-selected")).toBe("true");
});

test("a change leads to the row under which the timeline has its files, also where that came later", async () => {
  const made = model([FIRST, snapshot("s1", "one.py", { event: "e2", seq: 2 })]);
  await shown(made);
  expect(all(".as-Commit .as-Link").map((one) => one.textContent)).toEqual(["event 2"]);
  await act(async () => {
    const ended = row({ id: "c", seq: 3, event: "e2", side: "end" });
    made.rows.value = [...made.rows.value, ended];
  });
  expect(all(".as-Commit .as-Link").map((one) => one.textContent)).toEqual(["event 3"]);
});

test("a newer commit does not take the reader away", async () => {
  const made = model();
  await shown(made);
  await act(async () => {
    made.commits.value = [...made.commits.value, commit("2222222cccc", "Later", [change("x.py")])];
  });
  expect(item("Round once").getAttribute("aria-selected")).toBe("true");
  expect(item("Later").getAttribute("aria-selected")).toBe("false");
});

test("a commit leads to the event that made it", async () => {
  const made = model();
  await shown(made);
  await click(all(".as-Commit .as-Link")[0]);
  await click(all(".as-MadeBy")[0]);
  item("Round once").focus();
  await press("Enter");
  expect(made.revealed).toEqual(["b", "b", "b"]);
});

const snapshot = (id: string, path: string, more: Partial<Commit> = {}) =>
  commit(id, "", [change(path)], { snapshot: true, ...more });

test("the steps that a commit covers stand beneath it, and are looked at alike", async () => {
  const made = model([
    FIRST,
    snapshot("s1", "one.py", { event: "e1" }),
    snapshot("s2", "two.py", { event: "e2", seq: 2 }),
    commit("n1", "Both at once", [change("one.py"), change("two.py")], { seq: 2 }),
    snapshot("s3", "three.py", { event: "e2", seq: 2 }),
  ]);
  await shown(made);
  expect(all(".as-Commit").map((one) => one.classList.contains("as-mod-step"))).toEqual([
    false, // the newest snapshot, that nothing covers yet
    false,
    true,
    true,
  ]);
  expect(all(".as-GroupHead .as-Count")[0]?.textContent).toBe("2");
  await click(all(".as-Commit.as-mod-step")[1]);
  expect(made.selectedCommit.value).toBe("s1");
  expect(all(".as-Item").map((one) => one.textContent)).toEqual(["one.py+1−1M"]);
});

test("a step that a name took the place of leads to the named commit", async () => {
  const made = model([FIRST, snapshot("s1", "src/cart.py"), SECOND]);
  made.selectedCommit.value = "s1";
  await shown(made);
  expect(all(".as-Commit")).toHaveLength(1);
  expect(item("Round once").getAttribute("aria-selected")).toBe("true");
});

test("files that don't travel are named with size and digest, and not asked for", async () => {
  const made = model();
  const asked = vi.spyOn(made, "change");
  await shown(made);
  asked.mockClear();
  await click(item("model.bin"));
  expect(text()).toContain("Binary, 200 MB");
  expect(text()).toContain("d1g35t");
  expect(asked).not.toHaveBeenCalled();
});

test("a renamed file says what it was", async () => {
  await shown(model());
  await click(item("new.py"));
  expect(text()).toContain("Renamed from lib/new.py");
  expect(text()).toContain("Its text is the same");
});

test("the tree is one tab stop; arrows move, Left and Right fold", async () => {
  const made = model();
  await shown(made);
  const stops = () => all("[role=tree] [tabindex='0']").map((one) => one.textContent?.slice(0, 7));
  expect(stops()).toEqual(["cart.py"]);
  item("cart.py").focus();
  await press("ArrowDown");
  await vi.waitFor(() => expect(document.activeElement?.textContent).toContain("new.py"));
  expect(made.selectedPath.value).toBe("src/new.py");
  await press("ArrowLeft");
  await vi.waitFor(() => expect(document.activeElement?.textContent).toBe("src"));
  await press("ArrowLeft");
  expect(all(".as-Item").map((one) => one.textContent)).toEqual(["src", "model.binbinaryA"]);
  await press("ArrowRight");
  expect(all(".as-Item")).toHaveLength(5);
  expect(stops()).toEqual(["src"]);
});

test("commits are a list box that arrows move in", async () => {
  const empty = commit("2222222cccc", "Nothing to add", [], { seq: 2 });
  const made = model([SECOND, empty]);
  await shown(made);
  item("Round once").focus();
  await press("Home");
  expect(made.selectedCommit.value).toBe(empty.id);
  expect(document.activeElement?.textContent).toContain("Nothing to add");
  expect(text()).toContain("This commit changes no file");
});

test("empty states say what to do next", async () => {
  const made = model([]);
  await shown(made);
  expect(text()).toContain("%%step --workspace");
  await act(async () => {
    made.run.value = { workspace: "/home/me/shop" } as Run;
  });
  expect(text()).toContain("/home/me/shop");
  expect(text()).toContain("commit_agent_changes");
});

test("a file that does not come is said", async () => {
  const made = model();
  made.change = async () => {
    throw new Error("the link is gone");
  };
  await shown(made);
  expect(text()).toContain("could not be fetched");
  expect(text()).toContain("the link is gone");
});

test("older commits are asked for by the person, and one that stands apart is shown at once", async () => {
  const of = model([SECOND]);
  const complete = signal(false);
  const asked = vi.fn(async () => {
    of.commits.value = [commit("2222222cccc", "Before", [change("x.py")]), SECOND];
    complete.value = true;
    return true;
  });
  await shown({ ...of, allCommits: complete, commitCount: signal(2), moreCommits: asked });
  expect(text()).toContain("Show earlier ones: 1 commit");
  await act(async () => all("button.as-Fold")[0]?.click());
  await settled();
  expect(asked).toHaveBeenCalledTimes(1);
  expect(text()).not.toContain("Show earlier ones");
  expect(all("[data-item]").filter((one) => one.matches("[role=option]"))).toHaveLength(2);
});

test("a commit that isn't listed yet is read meanwhile, and the list comes to it", async () => {
  const of = model([SECOND]);
  const listed = signal<readonly Commit[]>([SECOND]);
  const far = commit("2222222cccc", "Far back", [change("far.py")], { seq: 1 });
  const asked = vi.fn(async () => {
    listed.value = asked.mock.calls.length < 3 ? [...listed.value] : [far, SECOND];
    return true;
  });
  of.commits.value = [far, SECOND];
  of.selectedCommit.value = far.id;
  const parts = { listedCommits: listed, allCommits: signal(false), moreCommits: asked };
  await shown({ ...of, ...parts });
  expect(text()).toContain("far.py");
  await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(3));
  await settled();
  expect(item("Far back").getAttribute("aria-selected")).toBe("true");
});

test("an event that isn't here is gone to by its number", async () => {
  const of = model([commit("3333333dddd", "Later", [change("a.py")], { seq: 70_000 })]);
  const revealed: (string | number)[] = [];
  await shown({ ...of, reveal: (row) => void revealed.push(row) });
  expect(text()).toContain("event 70000");
  await act(async () => all(".as-Commit .as-Link")[0]?.click());
  expect(revealed).toEqual([70_000]);
});
