/** Variables as a tree, whose branches are asked for when they are opened, a page at a time. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { Inspection, VariablePlace } from "../model/inspection";
import type { Variable } from "../protocol/types.gen";
import { escapeInvisible, formatCount } from "../view/format";

interface Known {
  variables: readonly Variable[];
  total: number;
  /** Why the page that was asked for last isn't here. */
  problem?: string;
}

const NONE: Known = { variables: [], total: 0 };

/** Names or items of a place, as far as they were asked for; null: on their way. */
function usePages(inspection: Inspection, row: string, place: VariablePlace) {
  const [known, setKnown] = useState<Known | null>(null);
  const key = `${row} ${place.frame} ${place.result ?? ""} ${place.path.join(".")}`;
  const visit = useRef({}); // another object for each place: a late page of the one before is dropped
  const load = async ({ variables, total }: Known) => {
    const asked = visit.current;
    let next: Known;
    try {
      const page = await inspection.variables(row, place, variables.length);
      next = { variables: [...variables, ...page.variables], total: page.total };
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      next = { variables, total, problem };
    }
    if (visit.current === asked) setKnown(next);
  };
  const loadFirst = () => {
    setKnown(null);
    void load(NONE);
  };
  useEffect(() => {
    loadFirst();
    return () => {
      visit.current = {};
    };
  }, [inspection, key]);
  return { known, more: () => (known?.total ? void load(known) : loadFirst()) };
}

interface BranchProps {
  inspection: Inspection;
  row: string;
  place: VariablePlace;
  level: number;
  /** What stands where there is nothing. */
  empty: string;
}

function Branch({ inspection, row, place, level, empty }: BranchProps) {
  const { known, more } = usePages(inspection, row, place);
  if (!known) return <li class="as-Note as-Late">Asking the agent…</li>;
  const left = known.total - known.variables.length;
  return (
    <>
      {known.variables.map((variable, index) => (
        <VariableLine
          key={`${index} ${variable.name}`}
          inspection={inspection}
          row={row}
          place={{ ...place, path: [...place.path, index] }}
          level={level}
          variable={variable}
        />
      ))}
      {known.problem && (
        <li class="as-Note as-Bad" role="alert">
          {known.problem}
        </li>
      )}
      {!known.problem && known.total === 0 && <li class="as-Note">{empty}</li>}
      {(left > 0 || known.problem) && (
        <li role="none">
          <button type="button" class="as-Link as-More" onClick={more}>
            {left > 0 ? `Show more: ${formatCount(left, "item")} left` : "Try again"}
          </button>
        </li>
      )}
    </>
  );
}

interface VariableLineProps extends Omit<BranchProps, "empty"> {
  variable: Variable;
}

export function VariableLine({ variable, ...where }: VariableLineProps) {
  const [open, setOpen] = useState(false);
  const { name, value, type, children, masked } = variable;
  const opens = children > 0;
  const text = escapeInvisible(value);
  const size = opens ? ` (${formatCount(children, "part")})` : "";
  const title = `${escapeInvisible(name)}: ${escapeInvisible(type)}${size}`;
  const parts = (
    <>
      <span class="as-Variable-twist">
        {opens && <Icon name={open ? "down" : "right"} small />}
      </span>
      <span class="as-Variable-name">{escapeInvisible(name)}</span>
      <span class={masked ? "as-Variable-value as-You" : "as-Variable-value"}>{text}</span>
      <span class="as-Variable-type as-Muted">{escapeInvisible(type)}</span>
    </>
  );
  const indent = { paddingLeft: `${8 + 14 * where.level}px` };
  return (
    <li>
      {opens ? (
        <button
          type="button"
          class="as-Variable"
          style={indent}
          title={title}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {parts}
        </button>
      ) : (
        <div class="as-Variable" style={indent} title={title}>
          {parts}
        </div>
      )}
      {open && (
        <ul class="as-Variables">
          <Branch {...where} level={where.level + 1} empty="It is empty." />
        </ul>
      )}
    </li>
  );
}

interface VariablesProps {
  inspection: Inspection;
  row: string;
  frame: number;
}

export function Variables({ inspection, row, frame }: VariablesProps) {
  return (
    <section class="as-Stack-part" aria-label="Locals">
      <h4 class="as-Stack-head">Locals</h4>
      <ul class="as-Variables">
        <Branch
          inspection={inspection}
          row={row}
          place={{ frame, path: [] }}
          level={0}
          empty="This frame has no names."
        />
      </ul>
    </section>
  );
}
