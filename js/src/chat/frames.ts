/** Once before the next drawing, however much comes until then. */

/** Call once, soon; gives back how to cancel. */
export type OnFrame = (then: () => void) => () => void;

/** A page that isn't shown draws no frames, and goes on hearing. */
const HIDDEN_MS = 250;

export const browserFrames: OnFrame = (then) => {
  const cancel = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
  const once = () => {
    cancel();
    then();
  };
  const frame = requestAnimationFrame(once);
  const timer = setTimeout(once, HIDDEN_MS);
  return cancel;
};
