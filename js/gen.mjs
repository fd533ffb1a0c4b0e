// Make src/protocol/*.gen.ts from the schemas; with --check only tell whether they are true.
import { readFile, writeFile } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

/** Each schema, and what its types are kept in: the app doesn't know of the runtime's and the chat's. */
const MADE = { protocol: "types.gen.ts", runtime: "runtime.gen.ts", chat: "chat.gen.ts" };

for (const [name, file] of Object.entries(MADE)) await make(name, file);

async function make(name, file) {
  const schema = JSON.parse(
    await readFile(new URL(`schema/${name}.json`, import.meta.url), "utf8"),
  );
  const types = new URL(`src/protocol/${file}`, import.meta.url);
  const made = await typesOf(schema, name);
  const kept = await readFile(types, "utf8").catch(() => "");
  if (made === kept) {
    console.log(`${file} is up to date`);
  } else if (process.argv.includes("--check")) {
    console.error(`src/protocol/${file} is stale: run \`npm run gen\``);
    process.exitCode = 1;
  } else {
    await writeFile(types, made);
    console.log(`wrote src/protocol/${file}`);
  }
}

async function typesOf(schema, name) {
  const compiled = await compile(schema, schema.title, {
    bannerComment: `// Made from schema/${name}.json by \`npm run gen\`; do not edit.`,
    additionalProperties: false,
    enableConstEnums: false,
    unreachableDefinitions: true,
    ignoreMinAndMaxItems: true, // else every length of a list is a type of its own
  });
  // The generator's remark on each type repeats what the file shows.
  const remark = new RegExp(
    ` \\*\n \\* This interface was referenced by \`${schema.title}\`'s JSON-Schema\n` +
      ' \\* via the `definition` "\\w+"\\.\n',
    "g",
  );
  return compiled
    .replace(remark, "")
    .replaceAll(/\/\*\*\n \* This interface was referenced by[^/]*\*\/\n/g, "");
}
