/** What a scene is made of. */
import type { MountOptions } from "../../src/mount";
import type { Script } from "./core";
import type { Hand } from "./hand";
import type { Story } from "./story";

export interface Made {
  script: Script;
  options?: MountOptions;
  /** The run that is asked for; "" is the newest. */
  run?: string;
  /** What a person did before one looks. */
  act?: (hand: Hand) => Promise<void>;
}

/** Made anew each time: what it holds may be changed by who plays it. */
export type Scene = () => Made;

/** A scene that shows a run. */
export const shows = (story: Story, act?: Made["act"], more: Partial<Script> = {}): Made => ({
  script: { story, ...more },
  ...(act && { act }),
});
