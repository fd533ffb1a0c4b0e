/** Scenes of approvals: what a call asks a person, how it is answered, and what stays of it. */
import type { Hand } from "./hand";
import { beginning } from "./plots";
import { type Scene, shows } from "./scene";
import type { Story } from "./story";

const COMMAND = { command: "rm -rf build dist && git push --force origin main", timeout: 60 };
const WHY =
  "rm -rf deletes files, and git push --force rewrites what others have: nothing here can undo them.";
const RULE = "run_command git push --force";
const NOT_SO = "Never force: make a branch and push that.";

/** A call that is asked about. */
const asking = (): Story => beginning().calls("run_command", COMMAND).wants("high", WHY, RULE);
/** It waits in CONTINUE: nothing else is halted. */
const ON = { mode: "continue" } as const;
const edit = async (hand: Hand) => {
  await hand.key("e");
  await hand.type(".as-Field .as-Input", "rm -rf build dist");
};

export const APPROVALS: Record<string, Scene> = {
  approval: () => shows(asking().halted(ON)),
  "approval-edit": () => shows(asking().halted(ON), edit),
  "approval-draft": () =>
    shows(asking().halted(ON), async (hand) => {
      await edit(hand);
      await hand.key("Escape");
    }),
  "approval-deny": () =>
    shows(asking().halted(ON), async (hand) => {
      await hand.press("Deny…");
      await hand.type(".as-Deny .as-Input", NOT_SO);
    }),
  "approval-several": () =>
    shows(
      asking()
        .calls("write_file", { path: "../notes.md", text: "Done.\n" })
        .wants("medium", "It writes outside the workspace.")
        .halted(ON, 2),
    ),
  "approval-watching": () => shows(asking().halted(ON), undefined, { control: false }),
  "approval-long": () =>
    shows(
      beginning()
        .calls("run_command", COMMAND)
        .wants("low", `${WHY} `.repeat(10), `run_command ${"unbroken".repeat(30)}`)
        .halted(ON),
    ),
  "approval-denied": () => shows(asking().denied(NOT_SO).is(ON)),
  "approval-approved": () =>
    shows(
      asking()
        .approved(true)
        .is({ ...ON, agent_state: "tool_executing" }),
    ),
  deny: () =>
    shows(beginning().calls("run_tests", { path: "tests/" }).halted(), (hand) => hand.key("d")),
};
