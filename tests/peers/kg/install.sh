#!/usr/bin/env bash
# Installs Virtuoso, as root, from Debian's packages.
set -uo pipefail
command -v virtuoso-t >/dev/null && exit
install=(apt-get install -y --no-install-recommends virtuoso-opensource-7)
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get update >/dev/null 2>&1
  "${install[@]}" >/dev/null 2>&1 || echo "could not be installed: virtuoso-opensource-7"
else
  echo "needs root; install by hand: ${install[*]}"
fi
