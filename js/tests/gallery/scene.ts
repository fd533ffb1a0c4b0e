/** What a scene is made of. */
import type { MountOptions } from "../../src/mount";
import type { Script } from "./core";
import type { Story } from "./story";
import type { User } from "./user";

export interface SceneSetup {
  script: Script;
  options?: MountOptions;
  /** The run that is asked for; "" is the newest. */
  run?: string;
  /** What a person did before one looks. */
  act?: (user: User) => Promise<void>;
}

/** Made anew each time: what it holds may be changed by who plays it. */
export type Scene = () => SceneSetup;

/** A scene that shows a run. */
export const shows = (
  story: Story,
  act?: SceneSetup["act"],
  more: Partial<Script> = {},
): SceneSetup => ({
  script: { story, ...more },
  ...(act && { act }),
});
