/** Where more is coming. It stands still: what moves is the text. */
export function Caret() {
  return <span class="as-Caret" aria-hidden="true" />;
}
