/** The editor, fetched when it is first needed: CodeMirror is larger than all the rest. */
import { useEffect, useState } from "preact/hooks";
import type { EditorProps } from "../editor/editor";
import { Button } from "../view/button";
import { Title } from "./title";

type Module = typeof import("../editor/editor");

let loaded: Module | undefined;

async function load(): Promise<Module> {
  loaded ??= await import("../editor/editor");
  return loaded;
}

export function LazyEditor(props: EditorProps) {
  const [module, setModule] = useState(loaded);
  const [failed, setFailed] = useState(false);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (module) return;
    setFailed(false);
    load().then(setModuleOnce, () => setFailed(true));
    function setModuleOnce(found: Module) {
      setModule(() => found);
    }
  }, [tries]);

  if (module) return <module.Editor {...props} />;
  return (
    <>
      <div class="as-PaneBar">
        <Title row={props.row} editing />
        <span class="as-Spring" />
        <Button
          outline
          hint="Go on reading (Esc)"
          onClick={() => {
            props.model.editing.value = false;
          }}
        >
          Close
        </Button>
      </div>
      {failed ? (
        <div class="as-Empty">
          <h3>The editor could not be loaded</h3>
          <p>The Jupyter server did not send it.</p>
          <div class="as-Empty-actions">
            <Button outline hint="Load the editor" onClick={() => setTries(tries + 1)}>
              Try again
            </Button>
          </div>
        </div>
      ) : (
        <p class="as-Note as-Late">Loading the editor…</p>
      )}
    </>
  );
}
