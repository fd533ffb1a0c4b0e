/** A run's tags, taken away and added one by one; each change is sent at once. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { historyOf } from "../model/history";
import { Button } from "../view/button";
import { visible } from "../view/visible";
import type { EditProps } from "./edit";
import { tagsOf } from "./sorting";

/** As many the Core takes, and as long. */
const MOST = 20;
const LONGEST = 60;
const MOST_OFFERED = 6;

export function TagEditor({ model, run, onDone }: EditProps) {
  const field = useRef<HTMLInputElement>(null);
  const [tags, setTags] = useState<readonly string[]>(run.tags);
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []);

  const full = tags.length >= MOST;
  const put = async (next: readonly string[]) => {
    setTags(next);
    setText("");
    field.current?.focus({ preventScroll: true });
    setProblem(await historyOf(model).tag(run.id, [...next]));
  };
  const add = (tag: string) => {
    const word = tag.trim();
    if (word !== "" && !full && !tags.includes(word)) void put([...tags, word]);
    else setText("");
  };
  const remove = (tag: string) => void put(tags.filter((each) => each !== tag));
  const onKeyDown = (event: KeyboardEvent) => {
    const last = tags.at(-1);
    if (event.key === "Enter" && text.trim() === "") onDone();
    else if (event.key === "Enter" || event.key === ",") add(text);
    else if (event.key === "Backspace" && text === "" && last !== undefined) remove(last);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <span class="as-RunsEdit-words">
        Tags of <bdi>{visible(run.name)}</bdi>
      </span>
      {tags.map((tag) => (
        <span key={tag} class="as-Tag as-RunTag as-mod-edited">
          <span class="as-Ellipsis">{visible(tag)}</span>
          <button
            type="button"
            class="as-RunTag-remove"
            title={`Take away ${visible(tag)}`}
            aria-label={`Take away ${visible(tag)}`}
            onClick={() => remove(tag)}
          >
            <Icon name="close" small />
          </button>
        </span>
      ))}
      <input
        ref={field}
        class="as-Input as-RunsEdit-field"
        aria-label={`A new tag for ${visible(run.name)}`}
        placeholder={full ? `${MOST} are the most` : "Add a tag"}
        maxLength={LONGEST}
        readOnly={full}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {!full &&
        offered(tagsOf(model.runs.value), tags, text).map((tag) => (
          <button key={tag} type="button" class="as-Tag as-RunTag-offer" onClick={() => add(tag)}>
            <span class="as-Hidden">Add </span>
            <span class="as-Ellipsis">{visible(tag)}</span>
          </button>
        ))}
      <span class="as-Spring" />
      {problem && (
        <span class="as-Bad as-Small" role="alert">
          {problem}
        </span>
      )}
      <Button outline hint="Done (Esc)" onClick={onDone}>
        Done
      </Button>
    </>
  );
}

/** Tags of other runs that this one hasn't, as far as they fit what is being written. */
function offered(all: readonly string[], has: readonly string[], text: string): string[] {
  const wanted = text.trim().toLowerCase();
  const fit = all.filter((tag) => !has.includes(tag) && tag.toLowerCase().includes(wanted));
  return fit.slice(0, MOST_OFFERED);
}
