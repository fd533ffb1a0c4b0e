/** This browser's memory: small things a person would be sorry to lose. Never throws: it may be shut. */

const PREFIX = "agentstepper:";

export interface Memory {
  get(key: string): string | null;
  set(key: string, value: string): void;
  remove(key: string): void;
  /** The keys that begin so. */
  keys(start: string): string[];
}

/** Memory in a web storage; by default the one that outlives the tab. */
export function browserMemory(storage: () => Storage = () => localStorage): Memory {
  const attempt = <T>(otherwise: T, use: (storage: Storage) => T): T => {
    try {
      return use(storage());
    } catch {
      return otherwise; // shut by the browser's settings, or full
    }
  };
  return {
    get: (key) => attempt(null, (s) => s.getItem(PREFIX + key)),
    set: (key, value) => attempt(undefined, (s) => s.setItem(PREFIX + key, value)),
    remove: (key) => attempt(undefined, (s) => s.removeItem(PREFIX + key)),
    keys: (start) =>
      attempt([], (s) =>
        Object.keys(s)
          .filter((key) => key.startsWith(PREFIX + start))
          .map((key) => key.slice(PREFIX.length)),
      ),
  };
}
