/** What was edited so far, and the ways out. */
import { Icon } from "../icons/icon";
import { Discard } from "../inspector/drafted";
import { Button } from "../view/button";
import { count } from "../view/words";
import type { EditSession } from "./session";

interface FootProps {
  session: EditSession;
  onDiscard(): void;
  onClose(): void;
}

export function Foot({ session, onDiscard, onClose }: FootProps) {
  const edited = session.draft.value !== null;
  return (
    <div class="as-Foot">
      <div class="as-FootBar">
        {edited ? (
          <>
            <span class="as-Inline as-You">
              <Icon name="pencil" small />
              {editedWords(session)}
            </span>
            <span class="as-Muted as-Small as-Ellipsis as-x-pane">
              {session.error.value
                ? "Step waits until the JSON is valid"
                : "Draft kept here until you step"}
            </span>
          </>
        ) : (
          <span class="as-Muted as-Small as-Ellipsis">Nothing edited yet</span>
        )}
        <span class="as-Spring" />
        {edited && <Discard onDiscard={onDiscard} />}
        <Button
          outline
          hint={edited ? "Keep the draft and go on reading (Esc)" : "Go on reading (Esc)"}
          onClick={onClose}
        >
          Close
        </Button>
      </div>
    </div>
  );
}

function editedWords(session: EditSession): string {
  const changed = session.changed.value.length;
  return changed > 0 ? `${count(changed, "field")} edited` : "Edited";
}
