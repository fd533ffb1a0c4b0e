/** The seams of a run's process and the run's tools, as its agent reported them. */

import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { FoundBy, RunSeams, Seam } from "../protocol/types.gen";
import { escapeInvisible } from "./format";

export { default as styles } from "../styles/seams.css";

export interface SeamsListProps {
  seams: RunSeams;
  onClose(): void;
}

const METHODS: Record<FoundBy, { name: string; title: string }> = {
  adapter: { name: "adapter", title: "Its framework's adapter traces it" },
  discovery: { name: "discovery", title: "A function whose name a request offers as a tool" },
  hand: { name: "by hand", title: "The agent's author traces it" },
  wire: { name: "wire inference", title: "Inferred from what the model asks and is answered" },
};

export function SeamsList({ seams, onClose }: SeamsListProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);
  return (
    <div
      ref={box}
      class="as-Seams as-Scroll"
      role="dialog"
      aria-label="Seams and tools"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        onClose();
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      <h3>Halts without a change to the agent</h3>
      <ul>
        {seams.seams.map((seam) => (
          <SeamItem key={seam.library} seam={seam} />
        ))}
      </ul>
      <h3>Tools</h3>
      {seams.tools.length === 0 ? (
        <p class="as-Muted as-Small">None was found or called so far.</p>
      ) : (
        <ul>
          {seams.tools.map(({ name, found_by }) => (
            <li key={`${found_by} ${name}`}>
              <span class="as-Ellipsis" title={escapeInvisible(name)}>
                {escapeInvisible(name)}
              </span>
              <span class="as-Muted as-Small" title={METHODS[found_by]?.title}>
                {METHODS[found_by]?.name ?? found_by}
              </span>
            </li>
          ))}
        </ul>
      )}
      {seams.discovery_off_reason && (
        <p class="as-Seams-note as-Muted as-Small">{escapeInvisible(seams.discovery_off_reason)}</p>
      )}
    </div>
  );
}

function SeamItem({ seam }: { seam: Seam }) {
  const library = escapeInvisible(`${seam.library} ${seam.version}`.trim());
  const reason = escapeInvisible(seam.reason);
  return (
    <li class={seam.has_failed ? "as-mod-bad" : undefined}>
      <span class="as-Ellipsis" title={library}>
        <Icon name={seam.has_failed ? "warn" : seam.kind === "queries" ? "llm" : "tools"} small />
        {library}
      </span>
      <span class="as-Muted as-Small">
        {seam.kind === "queries" ? "LLM queries" : "tool calls"}
      </span>
      {reason && <span class="as-Seams-reason as-Muted as-Small">{reason}</span>}
    </li>
  );
}
