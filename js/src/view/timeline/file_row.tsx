/** The lines under a row: a file that it changed, and the count of those that are too many. */

import { Diffstat } from "../../changes/diffstat";
import { Letter } from "../../changes/letter";
import { visible } from "../visible";
import { count } from "../words";
import type { FileLine, MoreLine } from "./lines";
import { Guides, type PlaceProps, placed } from "./row";

interface FileRowProps extends PlaceProps {
  line: FileLine;
  onSelect(): void;
}

export function FileRow({ line, onSelect, ...place }: FileRowProps) {
  const { change } = line.file;
  const path = visible(change.path);
  const before = change.previous_path === null ? "" : `, before ${visible(change.previous_path)}`;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the timeline takes the keys of all its rows
    <div
      {...placed(place, line.id, line.row.depth + 2)}
      role="row"
      class="as-Row as-mod-file"
      title={`${path}${before}: Enter shows it in Changes`}
      onClick={onSelect}
    >
      <span class="as-FileLine" role="gridcell">
        <Guides depth={line.row.depth + 1} />
        <Letter kind={change.kind} />
        <span class="as-Ellipsis as-PathStart">
          <bdi>{path}</bdi>
        </span>
      </span>
      <span class="as-Row-stat" role="gridcell">
        {change.binary ? <span>binary</span> : <Diffstat {...change} />}
      </span>
    </div>
  );
}

interface MoreRowProps extends PlaceProps {
  line: MoreLine;
  onSelect(): void;
}

export function MoreRow({ line, onSelect, ...place }: MoreRowProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the timeline takes the keys of all its rows
    <div
      {...placed(place, line.id, line.row.depth + 2)}
      role="row"
      class="as-Row as-mod-file"
      title="Show all files of this step in Changes (Enter)"
      onClick={onSelect}
    >
      <span class="as-FileLine" role="gridcell">
        <Guides depth={line.row.depth + 1} />
        <span class="as-Link as-Ellipsis">{`… ${count(line.count, "more file")}`}</span>
      </span>
    </div>
  );
}
