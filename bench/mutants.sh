#!/usr/bin/env bash
# Mutates the optimized programs of the examples and judges every mutant on the CPU: writes
# bench/mutants.json and bench/mutants.md. Sizes are small, and multiples of no block's, so that
# masks matter; one model has more rows than a group of tiles. JOBS mutants at a time (2):
# half an hour on 2 cores.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${KERNELWRIGHT_BINARY:-build/kernelwright}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0

judge() {  # example, NAME=INTEGER...
  local model=examples/$1.py sizes=() size
  shift
  for size in "$@"; do sizes+=(--set "$size"); done
  "$binary" optimize "$model" "${sizes[@]}" --backend cpu --out "$folder/out" \
    --store "$folder/store.sqlite"
  python3 tests/mutators/run.py "$model" "$folder/out/optimized.py" "${sizes[@]}" \
    --binary "$binary" --jobs "${JOBS:-2}" --results bench/mutants.json || status=1
}

rm -f bench/mutants.json
judge attention_block BATCH=2 LENGTH=37 WIDTH=72 HEADS=3
judge linear_tail BATCH=300 FEATURES=40 OUTPUTS=200
judge softmax_head ROWS=37 VOCABULARY=1000
judge softmax_head ROWS=5 VOCABULARY=32700
judge swiglu_mlp TOKENS=300 WIDTH=200 HIDDEN=328
exit $status
