#!/bin/sh
# Times the programs of the papers' systems and the first kernels, after comparing each file test of them
# with the GPU bit for bit. Run from the root of the repository on a machine with a GPU;
# docs/benchmarks.md shows the results.
#
#   tests/bench/systems.sh [FILE]      FILE: tests/bench/results/systems.jsonl
set -eu
results=${1:-tests/bench/results/systems.jsonl}
tilevm=${TILEVM:-build/tilevm}
filetest=${FILETEST:-build/tests/filetest}

find programs -name '*.tile' -print0 | xargs -0 -P 8 -n 1 "$filetest" cuda

rm -f "$results"
bench() {
  echo "== $*"
  "$tilevm" bench "$@" -o "$results"
}

large="-D K=8192 -D N=57344"
square="-D K=8192 -D N=8192"
small="-D K=4096 -D N=4096"
# shellcheck disable=SC2086  # lists of options are split on purpose
matmul() {
  file=$1
  shift
  bench "$file" --kernel matmul --baseline cublas "$@"
}
for bits in 4 3 2; do
  # shellcheck disable=SC2086
  matmul programs/flute/matmul.tile -D W=$bits $large -D BLOCKS=528
  for shape in "$square" "$small"; do
    # shellcheck disable=SC2086
    matmul programs/flute/matmul.tile -D W=$bits $shape
  done
done
for shape in "$large" "$square"; do
  # shellcheck disable=SC2086
  matmul programs/flute/matmul.tile -D W=4 -D COPIES=32 $shape
  # shellcheck disable=SC2086
  bench programs/marlin/sparse_matmul.tile --kernel matmul $shape
done
# shellcheck disable=SC2086
matmul programs/marlin/matmul.tile $large -D STAGES=5
# shellcheck disable=SC2086
matmul programs/marlin/matmul.tile $square -D BN=128
# shellcheck disable=SC2086
matmul programs/marlin/matmul.tile $small -D BN=128
# shellcheck disable=SC2086
matmul programs/marlin/matmul.tile -D M=64 -D BM=64 $large

planes="programs/apt_llm/matmul.tile --kernel matmul"
for bits in 1 2; do
  # shellcheck disable=SC2086
  bench $planes -D W=$bits -D A=$bits -D M=64 -D N=4096 -D K=4096
  # shellcheck disable=SC2086
  bench $planes -D W=$bits -D A=$bits -D M=8192 -D N=8192 -D K=8192 -D BM=32 -D STAGES=2
done

# decode CACHE SEQUENCES CONTEXT SPLIT
decode() {
  pages=$(($3 / 128))
  bench programs/attention/decode.tile --kernel decode --in table=iota --in length=full:"$3" \
    -D Q="$1" -D S="$2" -D PAGES=$(($2 * pages)) -D TABLE=$pages -D P=128 -D STAGES=2 \
    -D SPLIT="$4"
}
for cache in u4 u8; do
  decode $cache 32 32768 4
  decode $cache 8 4096 8
  decode $cache 1 32768 32
done
decode f16 8 32768 8

prompt="programs/attention/prefill.tile --entry equal_lengths --kernel prefill -D S=1 -D TOKENS=4096"
# shellcheck disable=SC2086
bench $prompt -D LONGEST=4096 -D H=32 -D R=4 -D BM=128 -D BN=128
bench programs/softmax.tile -D M=32768 -D N=4096
bench programs/layernorm.tile -D M=32768 -D N=4096
bench programs/rmsnorm_residual.tile -D M=32768 -D N=8192 -D THREADS=256
bench programs/rope.tile -D TOKENS=8192 -D H=32
bench programs/matmul_swiglu.tile -D M=4096 -D N=4096 -D K=4096 -D BM=128
