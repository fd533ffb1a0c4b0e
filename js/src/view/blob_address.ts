/** Addresses of bytes that are at hand. */
import { useEffect, useState } from "preact/hooks";

/** An address for the blob, as long as it is shown. */
export function useAddress(blob: Blob | null): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (!blob) return;
    const made = URL.createObjectURL(blob);
    setAddress(made);
    return () => {
      setAddress(null);
      URL.revokeObjectURL(made);
    };
  }, [blob]);
  return address;
}
