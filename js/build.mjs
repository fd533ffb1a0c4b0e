// Build the view into the Python package: a loader, an app chunk, an editor chunk, a page, a manifest.
// With --watch it builds again at each change, unminified.
import { readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";
import { cssText } from "./tools/css.mjs";
import { notices } from "./tools/notices.mjs";
import { keepTo, report } from "./tools/sizes.mjs";

const OUT = fileURLToPath(new URL("../agentstepper_nb/widgets/static", import.meta.url));
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

// Its name is known to the Python side, so it has no hash.
const loader = { ...common, entryPoints: ["src/shells/loader.ts"] };
const app = {
  ...common,
  entryPoints: ["src/app.ts", "src/shells/page.ts"],
  splitting: true,
  entryNames: "[name].[hash]",
  chunkNames: "[name].[hash]",
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
    editor: made(metafile, "src/editor/editor.ts") ?? made(metafile, "src/editor/editor.tsx"),
  };
  // Last: who reads it finds all that it names.
  await writeFile(`${OUT}/manifest.json`, `${JSON.stringify(manifest, null, 2)}\n`);
}

async function once() {
  await rm(OUT, { recursive: true, force: true });
  const built = await Promise.all([build(loader), build(app)]);
  const [, { metafile }] = built;
  const inputs = built.flatMap((each) => Object.keys(each.metafile.inputs));
  await writeFile(`${OUT}/LICENSES.txt`, await notices(common.absWorkingDir, inputs));
  await writeManifest(metafile);
  const sizes = await report(OUT, made(metafile, "src/app.ts"), metafile);
  keepTo(sizes, { "loader.js": 4096, app: 61440 });
}

async function forever() {
  const manifest = {
    name: "manifest",
    setup: ({ onEnd }) => onEnd(({ metafile }) => metafile && writeManifest(metafile)),
  };
  const contexts = await Promise.all([
    context(loader),
    context({ ...app, plugins: [...app.plugins, manifest] }),
  ]);
  for (const each of contexts) await each.watch();
  console.log("watching; built into", OUT);
}

await (watch ? forever() : once());
