#!/usr/bin/env bash
# Installs inspect_ai into an environment of its own: its requirements and ours conflict.
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=${BRANCHWISE_PEERS:-.peers}/inspect
[ -e "$environment/.installed" ] && exit
"${PYTHON:-python3}" -m venv "$environment"
"$environment/bin/pip" install --quiet inspect-ai==0.3.285 openai==3.52.0 bm25s==0.2.1 PyStemmer==3.1.0
touch "$environment/.installed"
