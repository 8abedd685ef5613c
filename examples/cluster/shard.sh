#!/bin/bash
# One shard of a study, on this machine's own disk; it is kept in a folder that all machines share.
#
#   shard.sh STUDY.yaml I N SHARED
#
# A shard that was stopped goes on: on the machine where its folder still is, or from what is kept.
# A run is an SQLite file, which network file systems damage: so it is written on a local disk
# ($SCRATCH, else $TMPDIR, else /tmp), and copied when the command ends or is told to (SIGTERM).
set -euo pipefail

study=$1 number=$2 shards=$3 kept=$4/$2
name=$(basename "$study" .yaml)
here=${SCRATCH:-${TMPDIR:-/tmp}}/$name-$number-of-$shards

# A copy takes its place when it is complete: killed anywhere, one whole copy is there.
copy() {
    rm -rf "$2.new"
    mkdir -p "$(dirname "$2")"
    cp -a "$1" "$2.new"
    rm -rf "$2"
    mv "$2.new" "$2"
}
# shellcheck disable=SC2329
keep() {
    if [ -d "$here" ]; then copy "$here" "$kept"; fi
}

if [ ! -d "$kept" ] && [ -d "$kept.new" ]; then mv "$kept.new" "$kept"; fi
if [ ! -d "$here" ] && [ -d "$kept" ]; then copy "$kept" "$here"; fi

trap keep EXIT
branchwise ablate "$study" --shard "$number/$shards" --out "$here" &
command=$!
trap 'kill -TERM "$command"' TERM INT

# A signal ends the first `wait`; the second brings the command's own code.
code=0
wait "$command" || code=$?
if [ "$code" -gt 128 ]; then
    code=0
    wait "$command" || code=$?
fi
exit "$code"
