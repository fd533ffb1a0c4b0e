#!/usr/bin/env bash
# The tests of the store in PostgreSQL start a server of their own. Install it with apt where it is missing, or say what to do.
set -euo pipefail
# shellcheck source=scripts/apt.sh
. "$(dirname "$0")/apt.sh"

command -v initdb >/dev/null && exit 0
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && exit 0
apt_install postgresql || {
  echo "The tests need PostgreSQL's \`initdb\` and \`postgres\`. Install PostgreSQL 13 or newer and try again." >&2
  exit 1
}
