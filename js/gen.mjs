// Make src/protocol/types.gen.ts from schema/protocol.json; with --check only tell whether it is true.
import { readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const SCHEMA = new URL("schema/protocol.json", import.meta.url);
const TYPES = new URL("src/protocol/types.gen.ts", import.meta.url);
const BANNER = "// Made from schema/protocol.json by `npm run gen`; do not edit.";

const schema = JSON.parse(await readFile(SCHEMA, "utf8"));
// The generator's remark on each type repeats what the file shows.
const REMARK =
  / \*\n \* This interface was referenced by `Protocol`'s JSON-Schema\n \* via the `definition` "\w+"\.\n/g;
const compiled = await compile(schema, "Protocol", {
  bannerComment: BANNER,
  additionalProperties: false,
  enableConstEnums: false,
  unreachableDefinitions: true,
  ignoreMinAndMaxItems: true, // else every length of a list is a type of its own
});
const made = compiled
  .replace(REMARK, "")
  .replaceAll(/\/\*\*\n \* This interface was referenced by[^/]*\*\/\n/g, "");
const kept = await readFile(TYPES, "utf8").catch(() => "");

if (made === kept) {
  console.log("types.gen.ts is up to date");
} else if (process.argv.includes("--check")) {
  console.error("src/protocol/types.gen.ts is stale: run `npm run gen`");
  process.exitCode = 1;
} else {
  await writeFile(TYPES, made);
  console.log("wrote src/protocol/types.gen.ts");
}
