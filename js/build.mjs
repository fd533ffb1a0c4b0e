// Build the view into the Python package: a loader, an app chunk, an editor chunk, a page, a manifest;
// and the labextension.
// With --watch it builds again at each change, unminified.
import { readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";
import { cssText } from "./tools/css.mjs";
import { writeLabextension } from "./tools/labextension.mjs";
import { notices, packagesOf } from "./tools/notices.mjs";
import { oneChunk } from "./tools/one_chunk.mjs";
import { keepTo, report } from "./tools/sizes.mjs";
import { standsAlone } from "./tools/stands_alone.mjs";

const OUT = fileURLToPath(new URL("../agentstepper_nb/widgets/static", import.meta.url));
const LAB = fileURLToPath(new URL("../agentstepper_nb/labextension", import.meta.url));
const watch = process.argv.includes("--watch");

async function version() {
  const source = await readFile(new URL("../agentstepper_nb/_version.py", import.meta.url), "utf8");
  const found = /__version__ = "([^"]+)"/.exec(source);
  if (!found) throw new Error("agentstepper_nb/_version.py has no __version__");
  return found[1];
}

async function protocol() {
  const source = await readFile(new URL("src/protocol/messages.ts", import.meta.url), "utf8");
  return Number(/VERSION = (\d+)/.exec(source)?.[1]);
}

const common = {
  absWorkingDir: fileURLToPath(new URL(".", import.meta.url)),
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: !watch,
  legalComments: "none", // the licences are gathered in one file instead
  metafile: true,
  outdir: OUT,
  define: { VERSION: JSON.stringify(await version()) },
  plugins: [cssText(!watch)],
  logLevel: "warning",
};

// The names of these are known to the Python side, so they have no hash.
const loader = { ...common, entryPoints: ["src/shells/loader.ts"] };
// Without splitting, so that all of the view is in the one file.
const kernel = { ...common, entryPoints: ["src/shells/kernel.ts"] };
// The same, of the agents that run on their own: a widget of its own.
const sessions = { ...common, entryPoints: { sessions: "src/sessions/widget.ts" } };
// And of a chat.
const chat = { ...common, entryPoints: { chat: "src/chat/widget.ts" } };
const app = {
  ...common,
  entryPoints: ["src/app.ts", "src/shells/page.ts"],
  splitting: true,
  plugins: [...common.plugins, oneChunk(fileURLToPath(new URL("src/app.ts", import.meta.url)))],
  entryNames: "[name].[hash]",
  chunkNames: "[name].[hash]",
};

// A classic script, which adds itself to the page's containers.
const lab = {
  ...common,
  entryPoints: { remoteEntry: "src/lab/container.ts" },
  format: "iife",
  outdir: `${LAB}/static`,
  entryNames: "[name].[hash]",
};

/** The file that was made for an entry point, without its folder. */
function made({ outputs }, entry) {
  const found = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry);
  return found?.[0].split("/").pop();
}

async function writeManifest(metafile) {
  const manifest = {
    version: await version(),
    protocol: await protocol(),
    app: made(metafile, "src/app.ts"),
    page: made(metafile, "src/shells/page.ts"),
    kernel: "kernel.js",
    editor: made(metafile, "src/editor/editor.ts") ?? made(metafile, "src/editor/editor.tsx"),
  };
  // Last: who reads it finds all that it names.
  await writeFile(`${OUT}/manifest.json`, `${JSON.stringify(manifest, null, 2)}\n`);
}

async function writeLab(metafile, packages = []) {
  const container = made(metafile, "src/lab/container.ts");
  await writeLabextension(LAB, { version: await version(), container, packages });
}

async function once() {
  for (const folder of [OUT, LAB]) await rm(folder, { recursive: true, force: true });
  const built = await Promise.all([loader, app, lab, kernel, sessions, chat].map(build));
  const [, { metafile }, container, ...whole] = built;
  for (const [at, name] of ["kernel.js", "sessions.js", "chat.js"].entries())
    standsAlone(whole[at].metafile, await readFile(`${OUT}/${name}`, "utf8"));
  const inputs = built.flatMap((each) => Object.keys(each.metafile.inputs));
  const packages = await packagesOf(common.absWorkingDir, inputs);
  await writeFile(`${OUT}/LICENSES.txt`, notices(packages));
  await writeLab(container.metafile, packages);
  await writeManifest(metafile);
  const sizes = await report(OUT, made(metafile, "src/app.ts"), metafile);
  // The last three travel through the kernel with each view; the first of them is the app and the editor.
  const alone = { "kernel.js": 230400, "sessions.js": 45056, "chat.js": 45056 };
  keepTo(sizes, { "loader.js": 4096, app: 61440, ...alone });
}

async function forever() {
  const after = (write) => ({
    name: "after",
    setup: ({ onEnd }) => onEnd(({ metafile }) => metafile && write(metafile)),
  });
  const contexts = await Promise.all([
    context(loader),
    context(kernel),
    context(sessions),
    context(chat),
    context({ ...app, plugins: [...app.plugins, after(writeManifest)] }),
    context({ ...lab, plugins: [...lab.plugins, after(writeLab)] }),
  ]);
  for (const each of contexts) await each.watch();
  console.log("watching; built into", OUT, "and", LAB);
}

await (watch ? forever() : once());
