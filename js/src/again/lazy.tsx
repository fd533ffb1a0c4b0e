/** The buttons that start a run again, which are fetched when they are first drawn. */
import { Button } from "../view/button";
import { lazy, withStyles } from "../view/lazy";
import type { ForkHereProps, StartButtonProps } from ".";

export const ForkHere = lazy<ForkHereProps>(
  async () => {
    const { ForkHere, styles } = await import(".");
    return withStyles(ForkHere, "again", styles);
  },
  // As large as what comes.
  <Button icon="retry" hint="" disabledReason="…" onClick={() => {}}>
    <span class="as-x-roomy">Fork here</span>
  </Button>,
);

export const StartButton = lazy<StartButtonProps>(async () => {
  const { StartButton, styles } = await import(".");
  return withStyles(StartButton, "again", styles);
});
