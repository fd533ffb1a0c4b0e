// A bundle for where nothing can be fetched: one file, which imports nothing, not even later.

/** Throw where a bundle would fetch something, or has an export that anywidget would take for its own. */
export function standsAlone({ outputs }, text) {
  const files = Object.entries(outputs);
  for (const [path, { imports, exports }] of files) {
    if (files.length > 1 || imports.length > 0) throw new Error(`${path} is not all in one file`);
    if (exports.join() !== "default")
      throw new Error(`${path} exports ${exports}, not just default`);
  }
  const fetches = /\bimport\s*\(|\bimport\.meta\b|\bfrom\s*["']\.{0,2}\//.exec(text);
  if (fetches) throw new Error(`The whole bundle would fetch something: ${fetches[0]}`);
}
