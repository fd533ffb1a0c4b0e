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
// Of all of them at once.
const fleet = { ...common, entryPoints: { fleet: "src/fleet/widget.ts" } };
// And of a chat.
const chat = { ...common, entryPoints: { chat: "src/chat/widget.ts" } };
const path = (source) => fileURLToPath(new URL(source, import.meta.url));
// These show what a row holds, or edit it, and so need nearly all that reads it.
const READERS = [
  "answers/index.tsx",
  "editor/editor.tsx",
  "inspector/edit_footer.tsx",
  "diff/edit_diff.tsx",
  "compare/index.tsx",
];
const whole = oneChunk(
  path("src/app.ts"),
  path("src/inspector/contents.tsx"),
  READERS.map((source) => path(`src/${source}`)),
);
const app = {
  ...common,
  entryPoints: ["src/app.ts", "src/shells/page.ts"],
  splitting: true,
  plugins: [...common.plugins, whole],
  entryNames: "[name].[hash]",
  chunkNames: "[name].[hash]",
};

const KB = 1024;
// The most that is fetched for each later part beside the app: a third more than it weighed when it was set.
const LATER = {
  "src/again/index.tsx": 3 * KB,
  "src/answers/index.tsx": 22 * KB,
  "src/approval/index.tsx": 4 * KB,
  "src/changes/index.tsx": 16 * KB,
  "src/compare/index.tsx": 36 * KB,
  "src/diff/edit_diff.tsx": 26 * KB,
  "src/editor/editor.tsx": 144 * KB,
  "src/find/index.tsx": 4 * KB,
  "src/forks/index.tsx": 10 * KB,
  "src/stack/index.tsx": 6 * KB,
  "src/history/index.tsx": 16 * KB,
  "src/inspector/contents.tsx": 16 * KB,
  "src/inspector/context/index.tsx": 3 * KB,
  "src/inspector/edit_footer.tsx": 20 * KB,
  "src/inspector/markdown/index.tsx": 32 * KB,
  "src/breakpoints/index.tsx": 20 * KB,
  "src/overview/effect_notes.tsx": 2 * KB,
  "src/overview/index.tsx": 16 * KB,
  "src/usage/index.tsx": 12 * KB,
  "src/view/ended.tsx": 4 * KB,
  "src/view/help.tsx": 2 * KB,
  "src/view/timeline/lane_list.tsx": 2 * KB,
  "src/view/seams.tsx": 2 * KB,
  "src/view/runs/list.tsx": 4 * KB,
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
  const built = await Promise.all([loader, app, lab, kernel, sessions, fleet, chat].map(build));
  const [, { metafile }, container, ...whole] = built;
  for (const [at, name] of ["kernel.js", "sessions.js", "fleet.js", "chat.js"].entries())
    standsAlone(whole[at].metafile, await readFile(`${OUT}/${name}`, "utf8"));
  const inputs = built.flatMap((each) => Object.keys(each.metafile.inputs));
  const packages = await packagesOf(common.absWorkingDir, inputs);
  await writeFile(`${OUT}/LICENSES.txt`, notices(packages));
  await writeLab(container.metafile, packages);
  const sizes = await report(OUT, made(metafile, "src/app.ts"), metafile);
  // The last four travel through the kernel with each view; the first of them is the app and the editor.
  const alone = {
    "kernel.js": 316 * KB,
    "sessions.js": 48 * KB,
    "fleet.js": 48 * KB,
    "chat.js": 48 * KB,
  };
  keepTo(sizes, { "loader.js": 4 * KB, app: 60 * KB, ...LATER, ...alone });
  if (!process.exitCode) await writeManifest(metafile); // else the next build took this one for current
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
    context(fleet),
    context(chat),
    context({ ...app, plugins: [...app.plugins, after(writeManifest)] }),
    context({ ...lab, plugins: [...lab.plugins, after(writeLab)] }),
  ]);
  for (const each of contexts) await each.watch();
  console.log("watching; built into", OUT, "and", LAB);
}

await (watch ? forever() : once());
