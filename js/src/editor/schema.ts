/** The schema of a tool's arguments: where it stands, whether a call fits it, and what it says of a field. */

import { type Schema, Validator } from "@cfworker/json-schema";
import type { MessageBody, Model, TimelineRow } from "../model/model";

export type { Schema };

/** One place of a call that doesn't fit. */
export interface Misfit {
  /** "options.limit"; "" is the arguments as a whole. */
  path: string;
  words: string;
}

/**
 * The schema of a pending call's arguments: as its function declares it, else as the last query before it
 * offered the tool; null where neither is known.
 */
export async function findSchema(
  model: Model,
  row: TimelineRow,
  body: MessageBody,
): Promise<Schema | null> {
  if (row.kind !== "tool_invocation" || row.side !== "begin") return null;
  if (body.schema !== undefined) return asSchema(read(body.schema));
  const isBefore = ({ kind, side, seq }: TimelineRow) =>
    kind === "llm_query" && side === "begin" && seq < row.seq;
  const query = model.rows.peek().findLast(isBefore);
  if (!query || row.name === null) return null;
  const asked = await model.body(query);
  return schemaOf(read(asked.edit ?? asked.data), row.name);
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

type Json = { readonly [key: string]: unknown };

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The schema with which a prompt offers a tool, whatever the API. */
export function schemaOf(prompt: unknown, name: string): Schema | null {
  if (!isObject(prompt)) return null;
  const config = isObject(prompt.toolConfig) ? prompt.toolConfig.tools : undefined;
  const settings = isObject(prompt.config) ? prompt.config.tools : undefined;
  const offered = [prompt.tools, prompt.functions, config, settings].flatMap(list);
  for (const tool of offered.flatMap(declarations)) {
    if (tool.name !== name) continue;
    const found = SCHEMA_KEYS.map((key) => tool[key]).find(isObject);
    return asSchema(isObject(found?.json) ? found.json : found);
  }
  return null;
}

/** Chat Completions and Responses, Messages, Gemini, Converse. */
const SCHEMA_KEYS = [
  "parameters",
  "input_schema",
  "inputSchema",
  "parametersJsonSchema",
  "parameters_json_schema",
];

/** A tool as its API wraps it; Gemini's is several. */
function declarations(tool: unknown): Json[] {
  if (!isObject(tool)) return [];
  const several = list(tool.functionDeclarations ?? tool.function_declarations);
  if (several.length > 0) return several.filter(isObject);
  return [[tool.function, tool.toolSpec].find(isObject) ?? tool];
}

function asSchema(found: unknown): Schema | null {
  return isObject(found) ? (lowered(found) as Schema) : null;
}

/** Gemini writes types in capitals. */
function lowered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lowered);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, one]) => [
    key,
    key === "type" && typeof one === "string" ? one.toLowerCase() : lowered(one),
  ]);
  return Object.fromEntries(entries);
}

/** What only says that something inside doesn't fit. */
const OUTER = new Set([
  ...["properties", "items", "prefixItems", "$ref", "allOf", "anyOf", "oneOf", "if", "then"],
  ...["additionalProperties", "patternProperties", "dependentSchemas", "contains"],
]);
const MOST = 20;

/** Where arguments don't fit a schema; nothing where the schema itself can't be read. */
export function misfitsOf(schema: Schema, value: unknown): Misfit[] {
  try {
    const { errors } = new Validator(schema, "2020-12", false).validate(value);
    const inner = errors.filter(({ keyword }) => !OUTER.has(keyword));
    const found = (inner.length > 0 ? inner : errors).map(
      ({ instanceLocation, keyword, error }) => ({
        path: pathOf(instanceLocation),
        words: wordsOf(keyword, error),
      }),
    );
    const seen = new Set<string>();
    return found.filter((one) => !seen.has(textOf(one)) && seen.add(textOf(one))).slice(0, MOST);
  } catch {
    return [];
  }
}

const pathOf = (location: string) =>
  location
    .replace(/^#\/?/, "")
    .split("/")
    .map((key) => decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");

/** The validator's words, which name the schema's own keywords in quotes. */
function wordsOf(keyword: string, error: string): string {
  const words = error.replace(/^Instance /, "").replace(/\.$/, "");
  const types = /^type "(.+)" is invalid\. Expected "(.+)"$/.exec(words);
  if (types) return `must be ${types[2]?.replaceAll('", "', " or ")}, not ${types[1]}`;
  if (keyword === "required") return words.replace(/^does not have required property/, "lacks");
  if (keyword === "false") return "isn’t one of the tool’s arguments";
  return words;
}

export const textOf = ({ path, words }: Misfit): string =>
  path === "" ? `The call ${words}` : `${path}: ${words}`;

// ---- What a schema says of one field.

/** The schema of an argument; undefined where there is none. */
export function propertyOf(schema: Schema | null, key: string): Schema | undefined {
  const found: unknown = schema?.properties?.[key];
  if (!isObject(found)) return undefined;
  const name =
    typeof found.$ref === "string" ? /^#\/\$defs\/(.+)$/.exec(found.$ref)?.[1] : undefined;
  const inner: unknown = name ? schema?.$defs?.[name] : found;
  return isObject(inner) ? (inner as Schema) : undefined;
}

/** The values that an argument may have, as JSON texts, where they are few; else none. */
export function choicesOf(property: Schema | undefined): string[] {
  if (!property) return [];
  if (property.type === "boolean") return ["true", "false"];
  const literals = property.enum ?? list(property.anyOf).flatMap((each) => enumOf(each));
  return literals.length <= 50 ? literals.map((each) => JSON.stringify(each)) : [];
}

function enumOf(value: unknown): readonly unknown[] {
  if (!isObject(value)) return [];
  return value.const !== undefined ? [value.const] : list(value.enum);
}

/** What is said of an argument: its type, and what it is for. */
export function propertyText(property: Schema | undefined, isRequired: boolean): string {
  if (!property) return "";
  const type = Array.isArray(property.type) ? property.type.join(" or ") : property.type;
  const kind = [type, isRequired && "required"].filter(Boolean).join(", ");
  return [kind, property.description].filter(Boolean).join(": ");
}

/** The arguments that a schema has and a call doesn't give. */
export function absentProperties(schema: Schema | null, given: readonly string[]): string[] {
  return Object.keys(schema?.properties ?? {}).filter((key) => !given.includes(key));
}

/** JSON text of a value to begin with. */
export function initialLiteral(property: Schema | undefined): string {
  if (!property) return "null";
  if (property.default !== undefined) return JSON.stringify(property.default);
  const [first] = choicesOf(property);
  if (first !== undefined) return first;
  const type = Array.isArray(property.type) ? property.type[0] : property.type;
  const initial = { string: '""', integer: "0", number: "0", array: "[]", object: "{}" };
  return initial[type as keyof typeof initial] ?? "null";
}
