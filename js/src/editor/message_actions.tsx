/** The buttons that move, delete and add messages. */
import { useState } from "preact/hooks";
import { Button } from "../view/button";
import { type Messages, rolesOf } from "./fields";
import type { EditSession } from "./session";

/** What takes the focus once a change is drawn: a new object for each change. */
export interface FocusTarget {
  readonly selector: string;
}

interface MessageActionsProps {
  session: EditSession;
  /** How many messages there are. */
  many: number;
  onFocus(next: FocusTarget): void;
}

const within = (message: number, selector: string): FocusTarget => ({
  selector: `[data-message="${message}"] ${selector}`,
});

export function MessageActions({
  session,
  at,
  many,
  onFocus,
}: MessageActionsProps & { at: number }) {
  const disabledReason = session.messagesDisabledReason.value;
  return (
    <span class="as-MessageActs">
      <Button
        icon="up"
        class="as-MessageUp"
        hint="Move this message up"
        disabledReason={disabledReason ?? (at === 0 ? "It is the first" : null)}
        onClick={() => {
          session.swapMessages(at - 1);
          onFocus(within(at - 1, ".as-MessageUp"));
        }}
      />
      <Button
        icon="down"
        class="as-MessageDown"
        hint="Move this message down"
        disabledReason={disabledReason ?? (at === many - 1 ? "It is the last" : null)}
        onClick={() => {
          session.swapMessages(at);
          onFocus(within(at + 1, ".as-MessageDown"));
        }}
      />
      <Button
        icon="trash"
        class="as-MessageDelete"
        hint="Delete this message"
        disabledReason={disabledReason}
        onClick={() => {
          session.removeMessage(at);
          const next = Math.min(at, many - 2);
          onFocus(next < 0 ? { selector: ".as-AddMessage" } : within(next, ".as-MessageDelete"));
        }}
      />
    </span>
  );
}

interface AddMessageProps extends Omit<MessageActionsProps, "many"> {
  messages: Messages;
}

export function AddMessage({ session, messages, onFocus }: AddMessageProps) {
  const [role, setRole] = useState("user");
  return (
    <div class="as-FormAdd">
      <Button
        outline
        icon="plus"
        class="as-AddMessage"
        hint="Put a message at the end"
        disabledReason={session.messagesDisabledReason.value}
        onClick={() => {
          session.addMessage(role);
          onFocus(within(messages.list.items.length, "textarea"));
        }}
      >
        Add message
      </Button>
      <span class="as-Muted as-Small">by</span>
      <select
        class="as-Input"
        aria-label="Who the new message is by"
        value={role}
        onChange={({ currentTarget }) => setRole(currentTarget.value)}
      >
        {rolesOf(messages).map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </div>
  );
}
