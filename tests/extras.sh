#!/usr/bin/env bash
# What some tests need beside `make install`: programs (as root, from Debian's packages), and
# FlashRAG in an environment of its own, over this one's packages: it asks for older ones of some.
# What cannot be installed is said; its tests then skip, with the reason.
set -uo pipefail
cd "$(dirname "$0")/.."

declare -A packages=([chromium]=chromium [tmux]=tmux [less]=less [pdflatex]=texlive-latex-recommended)
declare -A classes=([IEEEtran.cls]=texlive-publishers [ptmr7t.tfm]=texlive-fonts-recommended)
wanted=()
for program in "${!packages[@]}"; do
  command -v "$program" >/dev/null || wanted+=("${packages[$program]}")
done
for file in "${!classes[@]}"; do
  kpsewhich "$file" >/dev/null 2>&1 || wanted+=("${classes[$file]}")
done
if [ ${#wanted[@]} -gt 0 ]; then
  install=(apt-get install -y --no-install-recommends "${wanted[@]}")
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update >/dev/null 2>&1
    "${install[@]}" >/dev/null 2>&1 || echo "could not be installed: ${wanted[*]}"
  else
    echo "needs root; install by hand: ${install[*]}"
  fi
fi

flashrag=.peers/flashrag
install_flashrag() {
  .venv/bin/python -m venv $flashrag || return
  .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
    >"$(echo $flashrag/lib/python*/site-packages)/branchwise.pth"
  grep -viE '^(pillow|huggingface_hub)=' constraints.txt >$flashrag/constraints.txt
  $flashrag/bin/pip install --quiet -c $flashrag/constraints.txt \
    "$(sed -n 's/^flashrag = \["\(.*\)"\]$/\1/p' pyproject.toml)" && touch $flashrag/.installed
}
[ -e $flashrag/.installed ] || install_flashrag || echo "could not be installed: FlashRAG"
