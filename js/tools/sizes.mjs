// What the bundles weigh as they travel, and whether that is within what was promised.
import { readdir, readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

/** Print and give back each file's gzipped size; "app" is the app with all that it imports at once. */
export async function report(folder, app, { outputs }) {
  const sizes = {};
  for (const name of (await readdir(folder)).filter((name) => name.endsWith(".js"))) {
    sizes[name] = gzipSync(await readFile(`${folder}/${name}`)).length;
  }
  const eager = closure(
    app,
    new Map(Object.entries(outputs).map(([path, it]) => [last(path), it])),
  );
  sizes.app = [...eager].reduce((sum, name) => sum + sizes[name], 0);
  for (const [name, size] of Object.entries(sizes)) {
    console.log(`${(size / 1024).toFixed(1).padStart(7)} KB gzipped  ${name}`);
  }
  return sizes;
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

/** Fail where a size passes its limit, in bytes. */
export function keepTo(sizes, limits) {
  for (const [name, limit] of Object.entries(limits)) {
    if (sizes[name] <= limit) continue;
    console.error(`${name} is ${sizes[name]} bytes gzipped; it may be ${limit}`);
    process.exitCode = 1;
  }
}
