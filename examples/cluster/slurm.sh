#!/bin/bash
# A run as a Slurm array, a part of the questions a task; submitted from a folder that all nodes see:
#
#   sbatch slurm.sh --questions q.jsonl --corpus C --model openai:NAME@URL
#   branchwise merge parts/* --out whole
#
# A task that was stopped goes on when its number is submitted again: sbatch --array=3,7 slurm.sh ...
#SBATCH --array=1-16
#SBATCH --time=08:00:00
#SBATCH --output=part-%a.log
set -euo pipefail
part=$(printf 'parts/%05d' "$SLURM_ARRAY_TASK_ID")
if [ -e "$part/run.sqlite" ]; then exec branchwise resume "$part"; fi
# The number of parts stands here: of --array=3,7 Slurm counts two.
exec branchwise run "$@" --shard "$SLURM_ARRAY_TASK_ID/${PARTS:-16}" --out "$part"
