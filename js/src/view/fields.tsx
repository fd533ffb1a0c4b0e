/** Fields of forms and bars: a choice from a list, a search, and the keys of a text that is sent. */
import type { ComponentChildren, Ref } from "preact";
import { Icon, type IconName } from "../icons/icon";
import { cx } from "./hooks";

interface SelectProps<V extends string> {
  /** Absent where a label stands around it. */
  label?: string;
  title?: string;
  class?: string;
  value: V;
  /** Each value with its words. */
  options: Iterable<readonly [V, string]>;
  onChange(value: V): void;
}

export function Select<V extends string>(props: SelectProps<V>) {
  const { label, title, value, options, onChange } = props;
  return (
    <select
      class={cx("as-Input as-Select", props.class)}
      aria-label={label}
      title={title}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value as V)}
    >
      {[...options].map(([each, words]) => (
        <option key={each} value={each}>
          {words}
        </option>
      ))}
    </select>
  );
}

interface SearchProps {
  icon?: IconName;
  /** Of what stands around the field. */
  class?: string;
  /** Of the field itself. */
  field?: string;
  label: string;
  placeholder: string;
  type?: "text" | "search";
  title?: string;
  value: string;
  readOnly?: boolean;
  spellcheck?: boolean;
  maxLength?: number;
  inputRef?: Ref<HTMLInputElement>;
  onText(text: string): void;
  onKeyDown?(event: KeyboardEvent): void;
  /** What stands beside the field. */
  children?: ComponentChildren;
}

/** A field to narrow or search a list, with its icon. */
export function SearchField(props: SearchProps) {
  const {
    icon = "search",
    class: around,
    field,
    label,
    inputRef,
    onText,
    type = "text",
    children,
    ...given
  } = props;
  return (
    <label class={cx("as-Search", around)}>
      <Icon name={icon} small />
      <input
        {...given}
        type={type as "text"}
        ref={inputRef ?? null}
        class={cx("as-Input", field)}
        aria-label={label}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      {children}
    </label>
  );
}

/** For a text area's `onKeyDown`: Enter sends, Shift+Enter begins a line. */
export const sendsOnEnter = (send: () => void) => (event: KeyboardEvent) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
};
