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
#
#   TUNE_SHAPES=REGEX     only the lines below that match, such as ' (32|64) '; then the table stays as it is
set -eu
seconds=${1:-30}
results=${2:-build/tune_shapes.jsonl}
tilevm=${TILEVM:-build/tilevm}
table=python/tilevm/tuned.jsonl
failed=0

# tune PROGRAM TYPE M K N [OPTION..]
tune() {
  printf '%s\n' "$*" | grep -Eq -e "${TUNE_SHAPES:-.}" || return 0
  echo "== $2, m = $3, K, N = $4, $5 ($1)"
  program=$1 type=$2 m=$3 k=$4 n=$5
  shift 5
  "$tilevm" tune "programs/quantized_matmul/$program.tile" -D "Q=$type" -D "M=$m" -D "K=$k" -D "N=$n" -D GROUP=128 "$@" \
    --kernel matmul --time-limit "$seconds" --start "$table" -o "$results" ${JOBS:+--jobs "$JOBS"} || failed=$((failed + 1))
}

tune few_rows u4 16 8192 10240
tune few_rows u4 16 28672 8192
tune few_rows u4 16 4096 14336
tune few_rows u4 16 14336 4096
tune few_rows u4 16 4096 4096
tune many_rows u4 64 8192 8192 -D BM=64 -D BAND=1 -D BK=128
tune many_rows u4 64 8192 57344 -D BM=64 -D BAND=1 -D BK=128
tune many_rows u4 64 28672 8192 -D BM=64 -D BAND=1 -D BK=128
tune many_rows u4 64 8192 10240 -D BM=64 -D BAND=1 -D BK=128
tune many_rows u4 64 4096 14336 -D BM=64 -D BAND=1 -D BK=128
tune many_rows u4 64 14336 4096 -D BM=64 -D BAND=1 -D BK=128
tune many_rows u4 64 4096 4096 -D BM=64 -D BAND=1 -D BK=128
tune many_rows i3 64 8192 57344 -D BM=64 -D BAND=1 -D BK=128
tune many_rows i2 64 8192 57344 -D BM=64 -D BAND=1 -D BK=128
tune few_rows u4 32 8192 57344
tune many_rows u4 32 8192 57344 -D BM=32 -D BAND=1 -D BK=128
tune few_rows u4 16 8192 8192
tune few_rows u4 16 8192 57344
tune few_rows u8 16 8192 8192
tune few_rows u6 16 8192 8192
tune few_rows i3 16 8192 8192
tune few_rows u4 32 8192 8192
tune few_rows u4 32 28672 8192
tune few_rows u4 32 8192 10240
tune few_rows u4 32 4096 14336
tune few_rows u4 32 14336 4096

if [ -n "${TUNE_SHAPES:-}" ]; then
  echo "the table is unchanged; python3 tests/bench/tuned_table.py --add $results adds what was found"
else
  python3 tests/bench/tuned_table.py --add "$results"
fi
[ $failed = 0 ] || echo "$failed shapes have no winner"
[ $failed = 0 ]
