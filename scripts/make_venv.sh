#!/usr/bin/env bash
# Make the virtual environment $1 with the interpreter $2 (python3 unless said), which must be 3.11 or newer.
set -euo pipefail
# shellcheck source=scripts/apt.sh
. "$(dirname "$0")/apt.sh"
venv=$1 python=${2:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "Python 3.11 or newer is needed; \`$python\` is $("$python" --version 2>&1). Say which: make PYTHON=python3.12 setup" >&2
  exit 1
}
# Debian ships venv and the pip for it apart from python3.
"$python" -c 'import venv, ensurepip' 2>/dev/null || apt_install python3-venv || {
  echo "\`$python\` lacks venv or ensurepip (Debian: the package python3-venv). Install it and try again." >&2
  exit 1
}
"$python" -m venv "$venv"
