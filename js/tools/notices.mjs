// The licences of the packages that went into the bundle, as they ask to be kept with it.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The packages of the input files of a build: name, version, license and its text. */
export async function packagesOf(root, inputs) {
  const folders = new Set(inputs.map(packageFolder).filter(Boolean));
  return Promise.all([...folders].sort().map((folder) => about(root, folder)));
}

/** All notices in one text. */
export function notices(packages) {
  return `The view contains these packages.\n\n${packages.map(notice).join("\n")}`;
}

function packageFolder(input) {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
}

async function about(root, folder) {
  const said = await readFile(join(root, folder, "package.json"), "utf8");
  const { name, version, license } = JSON.parse(said);
  const names = await readdir(join(root, folder));
  const file = names.find((name) => /^licen[cs]e/i.test(name));
  const text = file ? await readFile(join(root, folder, file), "utf8") : "";
  return { name, version, license, text: text.trim() };
}

function notice({ name, version, license, text }) {
  return `---- ${name} ${version} (${license})\n\n${text}\n`;
}
