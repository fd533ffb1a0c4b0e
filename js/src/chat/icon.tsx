/** The icons that only a chat needs, drawn as the view's: a 16 px grid, strokes of 1.4, no fill. */
export function ListIcon() {
  return (
    <svg class="as-Icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M2.5 3h11v7.5h-5L5.5 13v-2.5h-3zM5 5.6h6M5 8h4" />
    </svg>
  );
}
