/** The lines around the one that a frame stands at. */
import type { StackFrame } from "../protocol/types.gen";
import { LocationLink } from "../view/location_link";

export function Source({ frame }: { frame: StackFrame }) {
  const { source, location } = frame;
  return (
    <section class="as-Stack-part" aria-label="Source">
      <h4 class="as-Stack-head">
        Source
        <LocationLink location={location} />
      </h4>
      {source ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
        <div class="as-Source" tabIndex={0} role="group" aria-label="Lines of code">
          {source.lines.map((text, at) => {
            const line = source.first + at;
            const current = line === location.line;
            return (
              <div key={line} class="as-Source-line" aria-current={current ? "true" : undefined}>
                <span class="as-Source-mark" aria-hidden>
                  {current ? "▸" : ""}
                </span>
                <span class="as-Source-n">{line}</span>
                <code class="as-Source-text">{text || " "}</code>
              </div>
            );
          })}
        </div>
      ) : (
        <p class="as-Note">The lines of this file can't be read.</p>
      )}
    </section>
  );
}
