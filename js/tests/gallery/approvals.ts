/** Scenes of approvals: what a call asks a person, how it is answered, and what stays of it. */

import { type Scene, shows } from "./scene";
import { beginning } from "./stories";
import type { Story } from "./story";
import type { User } from "./user";

const COMMAND = { command: "rm -rf build dist && git push --force origin main", timeout: 60 };
const WHY =
  "rm -rf deletes files, and git push --force rewrites what others have: nothing here can undo them.";
const RULE = "the command `git push --force` in this workspace";
const AGAIN = "`npm ci` failed: the sandbox has no network. Run it again with the network?";
const NO_SANDBOX =
  "No sandbox: approvals are no protection against a command itself, which may do all that you may.";
const NOT_SO = "Never force: make a branch and push that.";

/** A call that is asked about. */
const asking = (): Story => beginning().calls("run_command", COMMAND).wants("high", WHY, RULE);
/** One that failed in the sandbox, and may leave it. */
const again = (): Story =>
  beginning()
    .calls("run_command", { command: "npm ci", network: true })
    .wants("medium", AGAIN, "the network in this session");
const writing = (): Story =>
  beginning().calls("write_file", { path: "notes.md", text: "Done.\n" }).wants("low", "It writes.");
const read = (user: User) => user.read();
/** It waits in CONTINUE: nothing else is halted. */
const ON = { mode: "continue" } as const;
const edit = async (user: User) => {
  await user.key("e");
  await user.type(".as-Field .as-Input", "rm -rf build dist");
  await user.read();
};

export const APPROVALS: Record<string, Scene> = {
  approval: () => shows(asking().halted(ON), read),
  "approval-low": () => shows(writing().halted(), read),
  "approval-again": () => shows(again().halted(ON), read),
  "approval-led": () =>
    shows(asking().halted(), async (user) => {
      await user.read();
      await user.key("F10");
    }),
  "approval-confirm": () =>
    shows(asking().halted(ON), async (user) => {
      await user.pick(".as-Always input");
      await user.press("Approve…");
      await user.read();
    }),
  "approval-no-sandbox": () => shows(asking().halted({ ...ON, notice: NO_SANDBOX }), read),
  "approval-edit": () => shows(asking().halted(ON), edit),
  "approval-draft": () =>
    shows(asking().halted(ON), async (user) => {
      await edit(user);
      await user.key("Escape");
      await user.read();
    }),
  "approval-deny": () =>
    shows(asking().halted(ON), async (user) => {
      await user.press("Deny…");
      await user.type(".as-Deny .as-Input", NOT_SO);
    }),
  "approval-several": () =>
    shows(
      asking()
        .calls("write_file", { path: "../notes.md", text: "Done.\n" })
        .wants("medium", "It writes outside the workspace.")
        .halted(ON, 2),
      read,
    ),
  "approval-watching": () => shows(asking().halted(ON), undefined, { control: false }),
  "approval-long": () =>
    shows(
      beginning()
        .calls("run_command", COMMAND)
        .wants("low", `${WHY} `.repeat(10), `run_command ${"unbroken".repeat(30)}`)
        .halted(ON),
      read,
    ),
  "approval-denied": () => shows(asking().denied(NOT_SO).is(ON)),
  "approval-approved": () =>
    shows(
      asking()
        .approved(true)
        .is({ ...ON, agent_state: "tool_executing" }),
    ),
  deny: () =>
    shows(beginning().calls("run_tests", { path: "tests/" }).halted(), (user) => user.key("d")),
};
