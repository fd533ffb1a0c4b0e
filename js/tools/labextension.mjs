// The prebuilt extension around its container: what JupyterLab and Notebook read of it.
import { cp, mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const NAME = "agentstepper_nb";
const SCHEMA = fileURLToPath(new URL("../src/lab/schema", import.meta.url));

/**
 * Write the files beside the container.
 *
 * @param container The container's file, without its folder, which is `static/`.
 * @param packages The packages of others that the view is made of, with their licences.
 */
export async function writeLabextension(folder, { version, container, packages }) {
  const about = {
    name: NAME,
    version,
    description: "The agent debugger in JupyterLab and Notebook",
    license: "BSD-3-Clause",
    jupyterlab: {
      extension: true,
      mimeExtension: true,
      outputDir: "labextension",
      schemaDir: "schema",
      _build: {
        load: `static/${container}`,
        extension: "./extension",
        mimeExtension: "./mimeExtension",
      },
    },
  };
  const install = {
    packageManager: "python",
    packageName: NAME,
    uninstallInstructions: `Use your Python package manager (pip, conda, etc.) to uninstall the package ${NAME}`,
  };
  const schemas = `${folder}/schemas/${NAME}`;
  await mkdir(schemas, { recursive: true });
  await cp(SCHEMA, schemas, { recursive: true });
  await json(`${schemas}/package.json.orig`, { name: NAME, version });
  await json(`${folder}/install.json`, install);
  // Help › Licenses shows these.
  await json(`${folder}/static/third-party-licenses.json`, { packages: packages.map(licence) });
  // Last: JupyterLab takes a folder with this file for an extension.
  await json(`${folder}/package.json`, about);
}

function licence({ name, version, license, text }) {
  return { name, versionInfo: version, licenseId: license, extractedText: text };
}

const json = (path, value) => writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
