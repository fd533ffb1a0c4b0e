/** A picture over the transcript, as large as there is room. */
import { useEffect, useRef } from "preact/hooks";
import { useAddress } from "../../view/blob_address";
import { Button } from "../../view/button";
import type { Enlarged } from "./image";

interface LargeProps {
  picture: Enlarged;
  onClose(): void;
}

export function Large({ picture: { blob, alt }, onClose }: LargeProps) {
  const address = useAddress(blob);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current?.querySelector<HTMLElement>(".as-Large-head button")?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <div
      ref={box}
      class="as-Large"
      role="dialog"
      aria-label={alt}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <div class="as-Large-head">
        <b class="as-Ellipsis">{alt}</b>
        <span class="as-Spring" />
        <Button icon="close" hint="Close (Esc)" onClick={onClose} />
      </div>
      <button
        type="button"
        class="as-Large-room"
        aria-label="Close"
        tabIndex={-1}
        onClick={onClose}
      >
        {address && <img src={address} alt={alt} />}
      </button>
    </div>
  );
}
