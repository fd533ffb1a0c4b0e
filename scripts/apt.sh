# Sourced: apt_install PACKAGE... installs Debian packages as root or through sudo, and fails where it cannot.

apt_install() {
  local as_root=()
  if ! command -v apt-get >/dev/null; then
    return 1
  elif [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || return 1
    as_root=(sudo)
  fi
  echo "Installing $* with apt-get" >&2
  "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
