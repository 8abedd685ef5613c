#!/usr/bin/env bash
# What some tests need beside `make install`: programs (as root, from Debian's packages) and
# FlashRAG. What cannot be installed is said; its tests then skip, with the reason.
set -uo pipefail
cd "$(dirname "$0")/.."
declare -A packages=([chromium]=chromium [tmux]=tmux [less]=less [pdflatex]=texlive-latex-recommended)
wanted=()
for program in "${!packages[@]}"; do
  command -v "$program" >/dev/null || wanted+=("${packages[$program]}")
done
if [ ${#wanted[@]} -gt 0 ]; then
  install=(apt-get install -y --no-install-recommends "${wanted[@]}")
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update >/dev/null 2>&1
    "${install[@]}" >/dev/null 2>&1 || echo "could not be installed: ${wanted[*]}"
  else
    echo "not root; install by hand: ${install[*]}"
  fi
fi
.venv/bin/python -c 'import importlib.util as u, sys; sys.exit(u.find_spec("flashrag") is None)' \
  || .venv/bin/pip install --quiet -c constraints.txt -e '.[flashrag]' \
  || echo "could not be installed: FlashRAG"
