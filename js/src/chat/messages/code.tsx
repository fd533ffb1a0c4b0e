/** CODE: source or a result, written in the message, or in a file that it names. */

import { Button } from "../../view/button";
import { cx } from "../../view/classes";
import { visible } from "../../view/visible";
import type { ShownMessage, TranscriptModel } from "../types";
import { CodeBox } from "./code_box";
import { useFetched } from "./fetched";

interface CodeProps {
  model: TranscriptModel;
  message: ShownMessage;
}

export function Code({ model, message }: CodeProps) {
  const { content, path, language, streaming } = message;
  if (content === "" && path !== null) return <FromFile model={model} message={message} />;
  const note = <Note message={message} />;
  return <CodeBox language={language ?? ""} text={content} note={note} streaming={streaming} />;
}

/** What it is, and which file. */
function Note({ message: { format, path } }: { message: ShownMessage }) {
  return (
    <>
      {format !== null && (
        <span class={cx("as-Tag as-Ellipsis", format === "result" && "as-mod-good")}>
          {visible(format)}
        </span>
      )}
      {path !== null && (
        <span class="as-Muted as-Ellipsis as-PathStart" title={visible(path)}>
          <bdi>{visible(path)}</bdi>
        </span>
      )}
    </>
  );
}

function FromFile({ model, message }: CodeProps) {
  const { id, language } = message;
  const { ref, fetched, retry } = useFetched(id, () => model.source(id));
  const note = <Note message={message} />;
  return (
    <div ref={ref}>
      {fetched.kind === "failed" ? (
        <NotHere what="The file can’t be shown" why={fetched.why} retry={retry} note={note} />
      ) : (
        <CodeBox
          language={language ?? ""}
          text={fetched.kind === "here" ? fetched.value.text : "…"}
          note={note}
          streaming={fetched.kind === "waiting"}
        />
      )}
    </div>
  );
}

interface NotHereProps {
  what: string;
  why: string;
  note?: preact.ComponentChildren;
  retry?: () => void;
}

/** Why something can't be shown, and a way to look again. */
export function NotHere({ what, why, note, retry }: NotHereProps) {
  return (
    <div class="as-NotHere">
      <div class="as-NotHere-head">
        <b>{what}</b>
        {note}
        {retry && (
          <Button icon="retry" class="as-NotHere-retry" hint="Look again" onClick={retry} />
        )}
      </div>
      <p class="as-Text">{visible(why)}</p>
    </div>
  );
}
