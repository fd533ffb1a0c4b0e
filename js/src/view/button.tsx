/** A button that keeps its place: while it is impossible it stays focusable and says why. */
import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "../icons/icon";
import { cx } from "./classes";

interface ButtonProps {
  icon?: IconName;
  /** What it does; with `children` only its tooltip, without them also its name. */
  hint: string;
  /** Why it is impossible now. */
  held?: string | null;
  /** Whether a press acts all the same: it leads to what holds it back. */
  leads?: boolean;
  primary?: boolean;
  outline?: boolean;
  pressed?: boolean;
  class?: string | undefined;
  /** The name for assistive technology where the label shown is another. */
  name?: string;
  /** Its key, shown beside the label; with it goes a `name`. */
  chord?: string;
  onClick(event: MouseEvent): void;
  children?: ComponentChildren;
}

export function Button(props: ButtonProps) {
  const { icon, hint, held, children } = props;
  const kinds = [
    props.primary && "as-mod-primary",
    props.outline && "as-mod-outline",
    !children && "as-mod-icon",
  ];
  return (
    <button
      type="button"
      class={cx("as-Button", ...kinds, props.class)}
      title={held ?? hint}
      aria-label={props.name ?? (children ? undefined : hint)}
      aria-disabled={held ? true : undefined}
      aria-pressed={props.pressed}
      aria-keyshortcuts={props.chord}
      onClick={(event) => {
        if (!held || props.leads) props.onClick(event);
      }}
    >
      {icon && <Icon name={icon} />}
      {children}
      {props.chord && <span class="as-Kbd" data-chord={props.chord} />}
    </button>
  );
}
