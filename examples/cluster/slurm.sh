#!/bin/bash
# A study as a Slurm array, a shard a task; submitted from the folder of study.yaml:
#
#   sbatch slurm.sh
#   sbatch --array=3,7 slurm.sh       # these again: they go on where they stopped
#
# The number of shards stands here, not in the array: of `--array=3,7` Slurm counts two.
#SBATCH --job-name=study
#SBATCH --array=1-16
#SBATCH --cpus-per-task=1
#SBATCH --mem=4G
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=shard-%a.log
set -euo pipefail

# Slurm runs a copy of this file: shard.sh lies where the job was submitted.
exec bash "$SLURM_SUBMIT_DIR/shard.sh" study.yaml "$SLURM_ARRAY_TASK_ID" "${SHARDS:-16}" \
    "$SLURM_SUBMIT_DIR/shards"
