/** A line of the agent's code: `agent.py:42`, or the cell of a notebook; it leads there where it can. */
import type { SourceLocation } from "../protocol/types.gen";
import { canOpenFile, openFile } from "../shells/open_file";
import { CopyButton } from "./button";
import { longLocation, shortLocation } from "./location";

/** Opens the file in JupyterLab; elsewhere its path can be copied. */
export function LocationLink({ location }: { location: SourceLocation }) {
  const { file, line, cell } = location;
  const text = shortLocation(location);
  if (cell === undefined && canOpenFile(file))
    return (
      <button
        type="button"
        class="as-Link as-Location"
        title={`Open ${longLocation(location)}`}
        onClick={() => openFile(file, line)}
      >
        {text}
      </button>
    );
  return (
    <span class="as-Location" title={longLocation(location)}>
      <span class="as-Location-text">{text}</span>
      {cell === undefined && <CopyButton label="Copy the path" text={() => `${file}:${line}`} />}
    </span>
  );
}
