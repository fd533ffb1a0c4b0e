/** Workspaces in which a fork restored files in place, and the button that puts back what was there. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import type { RestoredFolder } from "../protocol/types.gen";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";
import type { ForkSectionProps } from ".";

/** What was put back stays told for as long as the tab shows its run. */
export function RestoredSection({ model, tree, onChanged }: ForkSectionProps) {
  const [report, setReport] = useState<string | null>(null);
  if (tree.restored.length === 0 && report === null) return null;
  return (
    <section class="as-ForkSection" aria-label="Files restored in place">
      {report !== null && <Report text={report} />}
      {tree.restored.map((restored) => (
        <Restored
          key={restored.restore}
          model={model}
          restored={restored}
          onPutBack={(text) => {
            setReport(text);
            onChanged();
          }}
        />
      ))}
    </section>
  );
}

interface RestoredProps {
  model: Debugger;
  restored: RestoredFolder;
  onPutBack(report: string): void;
}

function Restored({ model, restored, onPutBack }: RestoredProps) {
  const { folder, run, restore, recorded_run: recorded, row, is_done: isDone } = restored;
  const [isAsked, setAsked] = useState(false);
  const [isWorking, setWorking] = useState(false);
  const name = model.runs.value.find(({ id }) => id === recorded)?.name ?? recorded;
  const path = escapeInvisible(folder);
  const putBack = async () => {
    setAsked(false);
    setWorking(true);
    const report = await requestPutBack(model, run, restore);
    setWorking(false);
    if (report !== null) onPutBack(report);
  };
  return (
    <div class="as-Restored">
      <p>
        <Icon name="warn" small />
        {`Files of row ${row} of `}
        <b>{escapeInvisible(name)}</b>
        {" were restored in place in "}
        <bdi class="as-Code">{path}</bdi>
        {isDone ? "." : ". That was interrupted, so that its files are of two states."}
      </p>
      {isAsked ? (
        <Confirmation path={path} onPutBack={putBack} onKeep={() => setAsked(false)} />
      ) : (
        <Button
          outline
          icon="undo"
          hint={`Make ${path} what it was before the fork`}
          disabledReason={disabledReason(model, isWorking)}
          onClick={() => setAsked(true)}
        >
          {isWorking ? "Putting back…" : "Put back…"}
        </Button>
      )}
    </div>
  );
}

interface ConfirmationProps {
  path: string;
  onPutBack(): void;
  onKeep(): void;
}

/** What happens to the files; the safe answer has the focus. */
function Confirmation({ path, onPutBack, onKeep }: ConfirmationProps) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.querySelector<HTMLElement>("button:last-child")?.focus(), []);
  return (
    <div ref={box} class="as-Restored-ask" role="group" aria-label="Put back?">
      <p>
        The folder becomes what it was before the fork. What the fork left there is stored, and then
        replaced or deleted.
      </p>
      <Button outline class="as-mod-danger" hint={`Put back ${path}`} onClick={onPutBack}>
        Put back
      </Button>
      <Button outline hint="Leave the files as they are" onClick={onKeep}>
        Keep
      </Button>
    </div>
  );
}

function disabledReason(model: Debugger, isWorking: boolean): string | null {
  if (isWorking) return "The files are being put back";
  return model.control.value ? null : "This login may watch, not control";
}

/** Put a restore back; null where that was refused, of which the person is told. */
async function requestPutBack(
  model: Debugger,
  run: string,
  restore: string,
): Promise<string | null> {
  try {
    const { client } = model.historyOptions;
    return (await client.request("put_back", { run, restore })).report;
  } catch (error) {
    const { code = "cannot_put_back", message } = error as { code?: string; message: string };
    model.onError(code, message);
    return null;
  }
}

/** What was written and deleted: its first line, and what was left out below. */
function Report({ text }: { text: string }) {
  return (
    <p class="as-Restored-report as-Good" role="status">
      <Icon name="check" small />
      {`Put back: ${escapeInvisible(text)}`}
    </p>
  );
}
