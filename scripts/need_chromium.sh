#!/usr/bin/env bash
# The browser tests drive the system's Chromium. Install it with apt where it is missing, or say what to do.
set -euo pipefail
# shellcheck source=scripts/apt.sh
. "$(dirname "$0")/apt.sh"

command -v chromium chromium-browser >/dev/null && exit 0
# The fonts are only recommended by chromium; without them a page's text, and emoji in it, are boxes.
apt_install chromium fonts-liberation fonts-dejavu-core fonts-noto-color-emoji || {
  echo "The browser tests need a \`chromium\` command on PATH. Install Chromium and try again." >&2
  exit 1
}
