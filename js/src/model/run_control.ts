/** The shown run in the hands of a shell: the commands of a notebook's menus, for one. */
import { effect } from "@preact/signals";
import { type Controls, isUsable } from "./controls";
import type { Debugger } from "./debugger";

/** What can be asked of the shown run, without a signal or a model in sight. */
export interface RunControl {
  /** The shown run's id; "" where there is none. */
  run(): string;
  /** Whether it waits for a person; also where this login may only watch. */
  halted(): boolean;
  /** Whether it hasn't ended, as far as is known. */
  lives(): boolean;
  /** What is possible now, and why the rest isn't. */
  possible(): Controls;
  /**
   * Hear of changes of what is possible.
   *
   * @param changed Called now and after each change.
   * @returns Ends it.
   */
  watch(changed: (possible: Controls) => void): () => void;
  /** These do nothing where they are impossible; step leads to what asks for an approval. */
  step(): void;
  resume(): void;
  halt(): void;
  stop(): void;
}

/** The controls of the run that a model shows. */
export function runControl(model: Debugger): RunControl {
  const { possible } = model;
  const order = (name: keyof Controls) => () => {
    if (isUsable(possible.peek()[name])) void model[name]();
  };
  return {
    run: () => model.run.peek()?.id ?? "",
    halted: () => (model.run.peek()?.pending.length ?? 0) > 0,
    lives: () => (model.run.peek()?.state ?? "idle") !== "idle",
    possible: () => possible.peek(),
    watch: (changed) =>
      effect(() => {
        changed(possible.value);
      }),
    step: order("step"),
    resume: order("resume"),
    halt: order("halt"),
    stop: order("stop"),
  };
}
