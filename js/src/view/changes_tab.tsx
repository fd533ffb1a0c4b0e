/** The Changes tab, a chunk of its own: fetched when it is first looked at. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Model } from "../model/model";

type Tab = ComponentType<{ model: Model }>;

export function ChangesTab({ model }: { model: Model }) {
  const [tab, setTab] = useState<{ Changes: Tab } | null>(null);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    import("../changes").then(setTab, () => setFailed(true));
  }, []);
  if (tab) return <tab.Changes model={model} />;
  if (!failed) return null;
  return (
    <div class="as-Empty">
      <h3>This part of the view could not be loaded</h3>
      <p>The Jupyter server did not answer, or was upgraded meanwhile. Reload the page.</p>
    </div>
  );
}
