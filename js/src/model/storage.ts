/** This browser's memory: small things a person would be sorry to lose. Never throws: it may be shut. */

const PREFIX = "agentstepper:";

export interface Memory {
  get(key: string): string | null;
  set(key: string, value: string): void;
  remove(key: string): void;
  /** The keys that begin so. */
  keys(start: string): string[];
  /**
   * Hear of changes, whoever of this browser makes them: this memory too, and the views of other tabs.
   *
   * @param changed Called with the key.
   * @returns Ends it.
   */
  watch(changed: (key: string) => void): () => void;
}

/** Told in the window that wrote: the browser's own event is for the others. */
const WRITTEN = "agentstepper:written";

/** Memory in a web storage; by default the one that outlives the tab. */
export function browserMemory(storage: () => Storage = () => localStorage): Memory {
  const attempt = <T>(otherwise: T, use: (storage: Storage) => T): T => {
    try {
      return use(storage());
    } catch {
      return otherwise; // shut by the browser's settings, or full
    }
  };
  const change = (key: string, make: (storage: Storage) => void) => {
    // What couldn't be written isn't told: who reads it then would drop what they have.
    const area = attempt(null, (storage) => {
      make(storage);
      return storage;
    });
    if (area) window.dispatchEvent(new CustomEvent(WRITTEN, { detail: { area, key } }));
  };
  return {
    get: (key) => attempt(null, (s) => s.getItem(PREFIX + key)),
    set: (key, value) => change(key, (s) => s.setItem(PREFIX + key, value)),
    remove: (key) => change(key, (s) => s.removeItem(PREFIX + key)),
    keys: (start) =>
      attempt([], (s) =>
        Object.keys(s)
          .filter((key) => key.startsWith(PREFIX + start))
          .map((key) => key.slice(PREFIX.length)),
      ),
    watch(changed) {
      const mine = (area: Storage | null) => attempt(false, (s) => s === area);
      const onStorage = ({ key, storageArea }: StorageEvent) => {
        if (key?.startsWith(PREFIX) && mine(storageArea)) changed(key.slice(PREFIX.length));
      };
      const onWritten = (event: Event) => {
        const { area, key } = (event as CustomEvent<{ area: Storage | null; key: string }>).detail;
        if (mine(area)) changed(key);
      };
      window.addEventListener("storage", onStorage);
      window.addEventListener(WRITTEN, onWritten);
      return () => {
        window.removeEventListener("storage", onStorage);
        window.removeEventListener(WRITTEN, onWritten);
      };
    },
  };
}
