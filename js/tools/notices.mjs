// The licences of the packages that went into the bundle, as they ask to be kept with it.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The text of all notices for the input files of a build. */
export async function notices(root, inputs) {
  const folders = new Set(inputs.map(packageFolder).filter(Boolean));
  const parts = await Promise.all([...folders].sort().map((folder) => notice(root, folder)));
  return `The view contains these packages.\n\n${parts.join("\n")}`;
}

function packageFolder(input) {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
}

async function notice(root, folder) {
  const about = JSON.parse(await readFile(join(root, folder, "package.json"), "utf8"));
  const names = await readdir(join(root, folder));
  const file = names.find((name) => /^licen[cs]e/i.test(name));
  const text = file ? await readFile(join(root, folder, file), "utf8") : "";
  return `---- ${about.name} ${about.version} (${about.license})\n\n${text.trim()}\n`;
}
