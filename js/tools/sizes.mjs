// What the bundles weigh as they travel, and whether that is within what was promised.
import { readdir, readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

/**
 * Print and give back gzipped sizes: each file's by its name; "app" is the app with all that it imports
 * at once; each later chunk is called by its entry point, and weighs what is fetched for it beside the app.
 */
export async function report(folder, app, { outputs }) {
  const files = {};
  for (const name of (await readdir(folder)).filter((name) => name.endsWith(".js"))) {
    files[name] = gzipSync(await readFile(`${folder}/${name}`)).length;
  }
  const built = new Map(Object.entries(outputs).map(([path, it]) => [last(path), it]));
  const weigh = (names) => [...names].reduce((sum, name) => sum + files[name], 0);
  const eager = closure(app, built);
  const sizes = { ...files, app: weigh(eager) };
  for (const entry of laterOf(outputs)) {
    const [name] = [...built].find(([, { entryPoint }]) => entryPoint === entry);
    if (name !== app)
      sizes[entry] = weigh([...closure(name, built)].filter((one) => !eager.has(one)));
  }
  for (const [name, size] of Object.entries(sizes)) {
    console.log(`${(size / 1024).toFixed(1).padStart(7)} KB gzipped  ${name}`);
  }
  return sizes;
}

/** The entry points of chunks that are imported later: those that no build was asked for. */
function laterOf(outputs) {
  const found = Object.values(outputs).flatMap(({ imports }) =>
    imports.filter(({ kind }) => kind === "dynamic-import").map(({ path }) => outputs[path]),
  );
  return new Set(found.map(({ entryPoint }) => entryPoint));
}

function closure(name, outputs, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const { path, kind } of outputs.get(name)?.imports ?? []) {
    if (kind === "import-statement") closure(last(path), outputs, found);
  }
  return found;
}

const last = (path) => path.split("/").pop();

/** Fail where a size passes its limit, in bytes, or a chunk that is fetched later has none. */
export function keepTo(sizes, limits) {
  for (const name of Object.keys(sizes).filter((name) => name.startsWith("src/"))) {
    if (name in limits) continue;
    console.error(`${name} is a chunk without a limit: name one in build.mjs`);
    process.exitCode = 1;
  }
  for (const [name, limit] of Object.entries(limits)) {
    if (sizes[name] <= limit) continue;
    console.error(`${name} is ${sizes[name]} bytes gzipped; it may be ${limit}`);
    process.exitCode = 1;
  }
}
