/** Scenes that go on: each step of the script is pushed by a command, or by `gallery.core.next()`. */
import type { Push } from "./core";
import { type Scene, shows } from "./scene";
import { Story } from "./story";

/** A long run whose reader has stopped at one row; what comes later stands above and below it. */
const arriving: Scene = () => {
  const story = new Story().begins();
  for (let at = 0; at < 14; at += 1) {
    story.calls("write_file", { path: `part_${at}.py` });
    story.returns("write_file", at === 11 ? "read me" : `wrote part ${at}`);
  }
  story.is({ mode: "continue", state: "continue", agent_state: "running" });
  const shown = { rows: [...story.rows], commits: [...story.commits] };
  const later = (before: number, files: string[]): Push => {
    const row = story.rows[before];
    const event = row?.event ?? null;
    const told = files.map((path) => ({ path, after: "x = 1\n" }));
    story.committed("", told, { snapshot: true, event, seq: before });
    return ["commit", { run: "a", commit: last(story.commits) }];
  };
  const added = (summary: string): Push => {
    story.says(summary);
    return ["row", { run: "a", row: last(story.rows) }];
  };
  const summed = last(shown.rows.slice(0, 20));
  const steps: Push[][] = [
    [later(21, ["late.py", "later.py"]), later(3, ["old.py"])],
    [added("One more"), added("And another")],
    [["row", { run: "a", row: { ...summed, summary: "A summary that came later" } }]],
    [later(25, ["below.py"]), added("The last"), later(22, ["a", "b", "c", "d", "e", "f"])],
  ];
  const { run, bodies, files } = story;
  return shows(Object.assign(new Story(), { run, bodies, files, ...shown }), undefined, { steps });
};

/** What is edited is answered by somebody else. */
const answered: Scene = () => {
  const story = new Story().begins().calls("run_tests", { path: "tests/" }).halted();
  const row = { ...last(story.rows), pending: false, answer: "resume" as const };
  const run = {
    ...story.run,
    state: "step" as const,
    agent_state: "running" as const,
    pending: [],
  };
  const steps: Push[][] = [
    [
      ["row", { run: "a", row }],
      ["run", { run }],
    ],
  ];
  return shows(story, (user) => user.key("e"), { steps });
};

/** The agent is lost while it is halted. */
const ending: Scene = () => {
  const story = new Story().begins().calls("run_tests", { path: "tests/" }).halted();
  const row = { ...last(story.rows), pending: false, answer: "withdrawn" as const };
  const { run } = new Story().ended("lost", { rows: 2 });
  const steps: Push[][] = [
    [
      ["row", { run: "a", row }],
      ["run", { run }],
    ],
  ];
  return shows(story, undefined, { steps });
};

export const MOVING: Record<string, Scene> = { arriving, "answered-edit": answered, ending };

function last<T>(of: readonly T[]): T {
  const found = of.at(-1);
  if (found === undefined) throw new Error("a scene begins with something");
  return found;
}
