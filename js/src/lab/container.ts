/**
 * What JupyterLab and Notebook load from the labextension: a container of the kind that module
 * federation makes, written by hand. The page hands it the packages that it shares, then asks for the
 * modules that `package.json` names.
 */
import { panelPlugin } from "./extension";
import type { ShareScope } from "./jupyterlab";
import { viewExtension } from "./mime";

declare global {
  interface Window {
    _JUPYTERLAB?: Record<string, Container>;
  }
}

interface Container {
  init(scope: ShareScope): void;
  get(module: string): Promise<() => Module>;
}

interface Module {
  __esModule: true;
  default: unknown;
}

const MODULES: Record<string, (scope: ShareScope) => Promise<unknown>> = {
  "./extension": panelPlugin,
  "./mimeExtension": viewExtension,
};

let shared: ShareScope = {};

const container: Container = {
  init(scope) {
    shared = scope;
  },
  async get(name) {
    const make = MODULES[name];
    if (!make) throw new Error(`agentstepper_nb has no module ${name}.`);
    const module: Module = { __esModule: true, default: await make(shared) };
    return () => module;
  },
};

window._JUPYTERLAB ??= {};
window._JUPYTERLAB.agentstepper_nb = container;
