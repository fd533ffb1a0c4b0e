/** The contents of the selected row: asked for, kept while they are on their way, tried again. */
import { useEffect, useState } from "preact/hooks";
import type { MessageBody, Model, Row } from "../model/model";

export type Loading =
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly body: MessageBody }
  | { readonly kind: "failed"; readonly message: string; again(): void };

/** A row's body; the last known one stays while a newer revision is on its way. */
export function useBody(model: Model, row: Row | undefined): Loading {
  const [found, setFound] = useState<{ id: string; state: Loading } | null>(null);
  const [tries, setTries] = useState(0);
  // A link that comes back is a reason to ask again.
  const open = model.connection.value.kind === "open";

  useEffect(() => {
    if (!row) return;
    let wanted = true;
    const take = (state: Loading) => wanted && setFound({ id: row.id, state });
    model.body(row).then(
      (body) => take({ kind: "ready", body }),
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        take({ kind: "failed", message, again: () => setTries(tries + 1) });
      },
    );
    return () => {
      wanted = false;
    };
  }, [model, row?.id, row?.revision, row?.approval && row.answer, tries, open]);

  return found && found.id === row?.id ? found.state : { kind: "loading" };
}
