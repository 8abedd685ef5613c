#!/bin/bash
# A study on several machines by ssh, a shard each, and merged on this one:
#
#   ssh.sh STUDY.yaml OUT HOST...
#
# On every host branchwise is on the PATH, and the study's folder has the same path as here. Typed
# again, it goes on. Keys: `SendEnv OPENAI_API_KEY` in ~/.ssh/config, and `AcceptEnv` on the hosts.
set -euo pipefail

study=$(realpath "$1") out=$2
shift 2
hosts=("$@")
name=$(basename "$study" .yaml)
mkdir -p "$out.shards"

run() {
    local host=$1 shard=$2 folder=/var/tmp/$name-$2-of-${#hosts[@]}
    local words=(branchwise ablate "$study" --shard "$shard/${#hosts[@]}" --out "$folder")
    # Quoted here for the shell over there.
    # shellcheck disable=SC2029
    ssh "$host" "cd $(printf %q "$(dirname "$study")") && $(printf '%q ' "${words[@]}")" || true
    rm -rf "$out.shards/$shard.new"
    mkdir "$out.shards/$shard.new"
    ssh "$host" tar -C "$(printf %q "$folder")" -cf - . | tar -C "$out.shards/$shard.new" -xf -
    rm -rf "${out:?}.shards/$shard"
    mv "$out.shards/$shard.new" "$out.shards/$shard"
}

for ((n = 1; n <= ${#hosts[@]}; n++)); do
    run "${hosts[n - 1]}" "$n" >"$out.shards/$n.log" 2>&1 &
done
wait
branchwise merge "$out.shards"/*[0-9] --out "$out"
