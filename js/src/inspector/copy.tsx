/** Copying, and the button that does it. */
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../icons/icon";

const TOLD_MS = 1500;

/** Put a text on the clipboard; false where the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOldWay(text); // no clipboard without https or focus
  }
}

function copyOldWay(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.style.cssText = "position:fixed;opacity:0";
  document.body.append(area);
  const focused = document.activeElement;
  area.select();
  try {
    return document.execCommand("copy");
  } finally {
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
  }
}

/** Make a text and copy it; false also where what makes it could not be fetched. */
async function copied(text: CopyButtonProps["text"]): Promise<boolean> {
  try {
    return await copyText(await text());
  } catch {
    return false;
  }
}

interface CopyButtonProps {
  /** What it copies: "Copy the prompt". */
  label: string;
  /** Made only when asked for: it may be large. */
  text(): string | Promise<string>;
  /** Show the label beside the icon. */
  wordy?: boolean;
  /** Why there is nothing to copy yet: it keeps its place. */
  held?: string | null;
}

export function CopyButton({ label, text, wordy, held }: CopyButtonProps) {
  const [told, setTold] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (told === null) return;
    const timer = setTimeout(() => setTold(null), TOLD_MS);
    return () => clearTimeout(timer);
  }, [told]);
  const said = told && (told === "copied" ? "Copied" : "The browser does not allow copying here");
  return (
    <button
      type="button"
      class={wordy ? "as-Button as-mod-outline" : "as-Button as-mod-icon"}
      title={held ?? said ?? label}
      aria-disabled={held ? true : undefined}
      aria-label={wordy ? undefined : label}
      onClick={async () => {
        if (!held) setTold((await copied(text)) ? "copied" : "failed");
      }}
    >
      <Icon name={told === null ? "copy" : told === "copied" ? "check" : "cross"} />
      {wordy && <span>{said ?? label}</span>}
      <span class="as-Hidden" role="status">
        {said}
      </span>
    </button>
  );
}
