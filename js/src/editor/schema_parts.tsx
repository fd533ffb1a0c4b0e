/** What the editor shows of a tool's schema: choices, hints, arguments to add, and what doesn't fit. */

import { useEffect } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { MessageBody, Model, TimelineRow } from "../model/model";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";
import type { Field } from "./fields";
import {
  absentProperties,
  choicesOf,
  findSchema,
  initialLiteral,
  propertyOf,
  propertyText,
  type Schema,
  textOf,
} from "./schema";
import type { EditSession } from "./session";

/** Fetch the schema of a call for its session. */
export function useSchema(
  model: Model,
  row: TimelineRow,
  body: MessageBody,
  session: EditSession,
): void {
  useEffect(() => {
    let isCurrent = true;
    findSchema(model, row, body).then(
      (schema) => {
        if (isCurrent) session.schema.value = schema;
      },
      () => undefined, // without it nothing is checked
    );
    return () => {
      isCurrent = false;
    };
  }, [session]);
}

const ARGUMENT = "Argument.";

/** The schema of the argument that a field is; undefined where it is none. */
export function schemaOfField(schema: Schema | null, { id }: Field): Schema | undefined {
  return id.startsWith(ARGUMENT) ? propertyOf(schema, id.slice(ARGUMENT.length)) : undefined;
}

/** The texts that an input may hold, as it would show them; none where anything goes. */
export function choiceTexts(property: Schema | undefined, field: Field): string[] {
  const values: unknown[] = choicesOf(property).map((literal) => JSON.parse(literal));
  const isText = field.kind === "text";
  if (!values.every((value) => (typeof value === "string") === isText)) return [];
  return values.map((value) => (isText ? String(value) : JSON.stringify(value)));
}

export function FieldHint({ schema, field }: { schema: Schema | null; field: Field }) {
  const property = schemaOfField(schema, field);
  const isRequired = schema?.required?.includes(field.id.slice(ARGUMENT.length)) === true;
  const words = propertyText(property, isRequired);
  return words ? <p class="as-Field-hint">{escapeInvisible(words)}</p> : null;
}

/** Buttons for the arguments that the tool takes and the call doesn't give. */
export function AbsentArguments({ session }: { session: EditSession }) {
  const schema = session.schema.value;
  const given = session.args.value?.object.members?.map(([key]) => key);
  const absent = given ? absentProperties(schema, given) : [];
  if (absent.length === 0) return null;
  return (
    <div class="as-AbsentArguments" role="group" aria-label="Arguments that aren’t given">
      <span class="as-Muted as-Small">Not given:</span>
      {absent.map((key) => {
        const property = propertyOf(schema, key);
        const isRequired = schema?.required?.includes(key) === true;
        return (
          <Button
            key={key}
            icon="plus"
            name={`Add ${key}`}
            hint={propertyText(property, isRequired) || `Add ${key}`}
            disabledReason={session.messagesDisabledReason.value}
            onClick={() => session.addArgument(key, initialLiteral(property))}
          >
            {escapeInvisible(key)}
          </Button>
        );
      })}
    </div>
  );
}

const MOST_SHOWN = 5;

/** Where the call doesn't fit, and the way to send it all the same. */
export function SchemaProblems({ session }: { session: EditSession }) {
  const misfits = session.misfits.value;
  if (misfits.length === 0) return null;
  const rest = misfits.length - MOST_SHOWN;
  return (
    <div class="as-SchemaProblems" role="status">
      <p class="as-Small">
        <Icon name="warn" small class="as-Bad" /> The call doesn’t fit the tool’s schema:
      </p>
      <ul>
        {misfits.slice(0, MOST_SHOWN).map((one) => (
          <li key={textOf(one)} class="as-Small">
            {escapeInvisible(textOf(one))}
          </li>
        ))}
        {rest > 0 && <li class="as-Muted as-Small">and {rest} more</li>}
      </ul>
      {session.draft.value !== null && (
        <label class="as-Sticky">
          <input
            type="checkbox"
            checked={session.allowsMisfits.value}
            onChange={({ currentTarget }) => {
              session.allowsMisfits.value = currentTarget.checked;
            }}
          />
          <span>Send it although it doesn’t fit</span>
        </label>
      )}
    </div>
  );
}
