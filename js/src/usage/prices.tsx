/** What the run's models cost and how much they read: set by a person, suggested by genai-prices. */
import { useEffect, useState } from "preact/hooks";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Problem } from "../model/model";
import { contextWindow } from "../model/prices";
import type { ModelInfoList, Price } from "../protocol/types.gen";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";
import { priceOf, withPrices } from "./price_list";

interface PricesProps {
  model: Debugger;
  /** The models that the run asks, each once. */
  models: readonly string[];
}

/** What stands in the fields of one model. */
interface Draft {
  readonly input: string;
  readonly output: string;
  readonly window: string;
}

type Field = keyof Draft;

const FIELDS: readonly (readonly [Field, string])[] = [
  ["input", "Input, $ a million tokens"],
  ["output", "Output, $ a million tokens"],
  ["window", "Context window, tokens"],
];

export function Prices({ model, models }: PricesProps) {
  const [drafts, setDrafts] = useState<Readonly<Record<string, Draft>>>({});
  const [known, setKnown] = useState<ModelInfoList | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const prices = model.breakpoints.prices.value;
  const watching = readOnlyReason(model);
  const asked = models.join("\n");
  useEffect(() => {
    let isCurrent = true;
    model.modelInfo(models).then(
      (info) => isCurrent && setKnown(info),
      () => {}, // without suggestions the fields are filled by hand
    );
    return () => {
      isCurrent = false;
    };
  }, [asked]);
  const draftFor = (name: string) => drafts[name] ?? draftOf(prices, name);
  const invalid = models.find((name) => drafts[name] && !toPrice(name, draftFor(name)));
  const suggested = suggestions(known, prices, drafts);
  const save = async () => {
    const changed = models.flatMap((name) => (drafts[name] ? toPrice(name, draftFor(name)) : null));
    const all = withPrices(
      prices,
      changed.filter((price) => price !== null),
    );
    const refused = await model.breakpoints.setPrices(all);
    setProblem(refused);
    if (!refused) setDrafts({});
  };
  const isChanged = Object.keys(drafts).length > 0;
  return (
    <form
      class="as-Prices"
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged && !invalid) void save();
      }}
    >
      <table>
        <thead>
          <tr>
            <th scope="col">Model</th>
            {FIELDS.map(([field, label]) => (
              <th key={field} scope="col">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {models.map((name) => (
            <tr key={name}>
              <th scope="row" class="as-Ellipsis" title={escapeInvisible(name)}>
                {escapeInvisible(name)}
              </th>
              {FIELDS.map(([field, label]) => (
                <td key={field} data-label={label}>
                  <input
                    class="as-Input"
                    inputMode="decimal"
                    aria-label={`${label}, ${escapeInvisible(name)}`}
                    aria-invalid={drafts[name] ? !isValid(field, draftFor(name)[field]) : undefined}
                    placeholder="not set"
                    value={draftFor(name)[field]}
                    readOnly={watching !== null}
                    onInput={({ currentTarget: { value } }) =>
                      setDrafts({ ...drafts, [name]: { ...draftFor(name), [field]: value } })
                    }
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <div class="as-Prices-actions">
        {Object.keys(suggested).length > 0 && watching === null && (
          <Button
            outline
            hint="Fill in what is published; nothing is used before you save"
            onClick={() => setDrafts({ ...drafts, ...suggested })}
          >
            Fill in from {known?.source}
          </Button>
        )}
        <Button
          outline
          hint={watching ?? "Costs are estimated by these prices from now on"}
          disabledReason={saveReason(watching, isChanged, invalid)}
          onClick={() => void save()}
        >
          Save prices
        </Button>
        {problem && (
          <span class="as-Bad" role="alert">
            {problem.message}
          </span>
        )}
      </div>
      {known?.source === null && (
        <p class="as-Muted as-Small">
          To have published prices suggested here, run{" "}
          <code class="as-Code">pip install "agentstepper_nb[prices]"</code> beside the Core, and
          start the Core again.
        </p>
      )}
    </form>
  );
}

function saveReason(
  watching: string | null,
  isChanged: boolean,
  invalid: string | undefined,
): string | null {
  if (watching !== null) return watching;
  if (!isChanged) return "No price is changed";
  if (invalid === undefined) return null;
  return `The prices of ${escapeInvisible(invalid)} aren’t complete: two amounts of 0 or more, and a whole number of tokens or nothing`;
}

function draftOf(prices: readonly Price[], name: string): Draft {
  const price = priceOf(prices, name);
  const window = contextWindow(prices, name);
  return {
    input: price ? String(price.input) : "",
    output: price ? String(price.output) : "",
    window: window === null ? "" : String(window),
  };
}

/** What is published of models that have no price yet. */
function suggestions(
  known: ModelInfoList | null,
  prices: readonly Price[],
  drafts: Readonly<Record<string, Draft>>,
): Record<string, Draft> {
  const open = (known?.models ?? []).filter(({ model }) => {
    const price = priceOf(prices, model);
    return !drafts[model] && (!price || contextWindow(prices, model) === null);
  });
  return Object.fromEntries(
    open.flatMap(({ model, input, output, context_window: window }) => {
      const before = draftOf(prices, model);
      const filled = {
        input: before.input || String(input ?? ""),
        output: before.output || String(output ?? ""),
        window: before.window || String(window ?? ""),
      };
      const isNew = FIELDS.some(([field]) => filled[field] !== before[field]);
      return isNew ? [[model, filled]] : [];
    }),
  );
}

const AMOUNT = /^\d+(\.\d*)?$|^\.\d+$/;
const WHOLE = /^\d+$/;

function isValid(field: Field, text: string): boolean {
  const trimmed = text.trim();
  if (field === "window") return trimmed === "" || (WHOLE.test(trimmed) && Number(trimmed) > 0);
  return AMOUNT.test(trimmed) && Number(trimmed) < 1e12;
}

/** The price that a draft says; null where it isn't complete. */
export function toPrice(model: string, draft: Draft): Price | null {
  if (FIELDS.some(([field]) => !isValid(field, draft[field]))) return null;
  const price = { model, input: Number(draft.input), output: Number(draft.output) };
  const window = draft.window.trim();
  return window === "" ? price : { ...price, context_window: Number(window) };
}
