#!/usr/bin/env bash
# Run make targets one after another, whatever fails; then say how long each took, and fail naming those that failed.
set -uo pipefail

table='' failed=()
for part in "$@"; do
  printf '\n===== %s\n' "$part"
  start=$SECONDS
  if ${MAKE:-make} --no-print-directory "$part"; then verdict=passed; else verdict=FAILED failed+=("$part"); fi
  table+=$(printf '%-16s %-7s %4d s' "$part" "$verdict" $((SECONDS - start)))$'\n'
done
printf '\n===== parts\n%s' "$table"
if [ ${#failed[@]} -gt 0 ]; then
  printf 'Failed: %s\n' "${failed[*]}"
  exit 1
fi
