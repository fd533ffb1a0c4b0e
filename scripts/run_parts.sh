#!/usr/bin/env bash
# Run make targets one after another, whatever fails; then say how long each took, and fail naming those that failed.
# `a+b` runs both at once: b's output follows a's. `a+b,c` runs c after b, still beside a.
# `a:600` interrupts a after 600 seconds, as failed: pytest then tells what failed before.
set -uo pipefail

outputs=$(mktemp -d)
trap 'kill $(jobs -p) 2> /dev/null; rm -rf "$outputs"' EXIT

run() {
  local part=${1%:*} start=$SECONDS verdict=passed limit=()
  [[ $1 == *:* ]] && limit=(timeout --verbose --signal=INT --kill-after=60 "${1#*:}")
  printf '\n===== %s\n' "$part"
  "${limit[@]}" ${MAKE:-make} --no-print-directory "$part" || verdict=FAILED
  printf '%-16s %-7s %4d s\n' "$part" "$verdict" $((SECONDS - start)) >> "$outputs/table"
}

for group in "$@"; do
  read -ra parts <<< "${group//+/ }"
  for beside in "${parts[@]:1}"; do
    for part in ${beside//,/ }; do
      [[ -d $outputs ]] || break # all was ended
      run "$part"
    done > "$outputs/$beside" 2>&1 &
  done
  run "${parts[0]}"
  wait
  for beside in "${parts[@]:1}"; do
    cat "$outputs/$beside"
  done
done

printf '\n===== parts\n'
cat "$outputs/table"
failed=$(awk '$2 == "FAILED" { print $1 }' "$outputs/table")
if [ -n "$failed" ]; then
  echo "Failed: ${failed//$'\n'/ }"
  exit 1
fi
