/** "+22 −3" */
export function Diffstat({ added, removed }: { added: number; removed: number }) {
  if (added === 0 && removed === 0) return null;
  return (
    <span class="as-Diffstat">
      {added > 0 && <span class="as-Good">{`+${added.toLocaleString("en")}`}</span>}
      {removed > 0 && <span class="as-Bad">{`−${removed.toLocaleString("en")}`}</span>}
    </span>
  );
}
