#!/bin/sh
# Tunes programs/quantized_matmul/ for shapes of language models, and puts the winners into the table
# that users get (python/tilevm/tuned.jsonl). Run from the root of the repository on a machine with a
# GPU.
#
#   tests/bench/tune_shapes.sh [SECONDS] [FILE]
#
# SECONDS: for each shape, with the proof of its winner; 30 if left out. FILE: what `tilevm tune`
# writes, build/tune_shapes.jsonl if left out; run again with the same file, the search goes on.
# A search begins with the fastest points of the table, of other shapes and GPUs, too.
set -eu
seconds=${1:-30}
results=${2:-build/tune_shapes.jsonl}
tilevm=${TILEVM:-build/tilevm}
table=python/tilevm/tuned.jsonl
failed=0

# tune PROGRAM TYPE M K N
tune() {
  echo "== $2, m = $3, K, N = $4, $5 ($1)"
  "$tilevm" tune "programs/quantized_matmul/$1.tile" -D "Q=$2" -D "M=$3" -D "K=$4" -D "N=$5" \
    -D GROUP=128 --kernel matmul --time-limit "$seconds" --start "$table" -o "$results" \
    ${JOBS:+--jobs "$JOBS"} || failed=$((failed + 1))
}

tune few_rows u4 16 8192 10240
tune few_rows u4 16 28672 8192
tune few_rows u4 16 4096 14336
tune few_rows u4 16 14336 4096
tune few_rows u4 16 4096 4096
tune many_rows u4 64 8192 8192
tune few_rows u4 32 8192 57344
tune many_rows u4 32 8192 57344
tune many_rows u4 64 8192 57344
tune few_rows u4 16 8192 8192
tune few_rows u4 16 8192 57344
tune few_rows u8 16 8192 8192
tune few_rows u6 16 8192 8192
tune few_rows i3 16 8192 8192

python3 tests/bench/tuned_table.py --add "$results"
[ $failed = 0 ] || echo "$failed shapes have no winner"
[ $failed = 0 ]
