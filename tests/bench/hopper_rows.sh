#!/bin/sh
# Times programs/quantized_matmul/hopper.tile beside cuBLAS on f16, over shapes, rows, types and tiles, and compares each
# tile with the simulator bit for bit on a reduced size. Run from the root of the repository on a machine with a Hopper GPU.
#
#   tests/bench/hopper_rows.sh STEP.. [-o FILE]     STEP: bits, large, small, types; FILE: hopper_rows.jsonl
set -eu
results=hopper_rows.jsonl
steps=
while [ $# -gt 0 ]; do
  case $1 in
    -o)
      results=$2
      shift
      ;;
    *) steps="$steps $1" ;;
  esac
  shift
done
tilevm=${TILEVM:-build/tilevm}
program=programs/quantized_matmul/hopper.tile
types="u1 u2 u3 u4 u5 u6 u7 u8 i2 i3 i4 i5 i6 i7 i8 f3e1m1 f4e2m1 f5e2m2 f6e3m2 f7e3m3 f8e4m3"

# bench OPTION..: one line of what matters
bench() {
  echo "-- $*"
  "$tilevm" bench $program --kernel matmul --baseline cublas --no-peak --repeat 20 -o "$results" "$@" |
    grep -E "matmul|cublas|cuBLAS" || echo FAILED
}
# equal OPTION..: the simulator's bits on the GPU, twice as many rows and columns as a tile and some more
equal() {
  "$tilevm" diff $program --engines sim,cuda --seeds 3 "$@" >"$results.log" 2>&1 || {
    echo "DIFFERENT: $*"
    cat "$results.log"
  }
}

bits() {
  for tile in "" "-D BM=128" "-D BM=128 -D TALL=2" "-D BM=64 -D STAGES=8" "-D BM=64 -D TALL=2 -D STAGES=6" "-D BM=32 -D TALL=2 -D STAGES=8" \
    "-D BM=64 -D BK=128" "-D BM=32 -D TALL=2 -D BK=128" "-D BM=64 -D TALL=4 -D BK=32 -D STAGES=8" "-D BM=32 -D TALL=4 -D BK=32 -D STAGES=12"; do
    # shellcheck disable=SC2086  # a list of options
    equal -D M=300 -D N=520 -D K=1096 -D BLOCKS=5 $tile
  done
  for type in $types; do equal -D M=70 -D N=264 -D K=520 -D BM=64 -D BLOCKS=3 -D Q="$type"; done
  equal -D M=300 -D N=264 -D K=520 -D T=bf16 -D ZEROS=1
  equal -D M=300 -D N=264 -D K=520 -D GROUP=32 -D ZEROS=1
}
large() {
  for n in 57344 8192; do
    for m in 4096 1024 256; do
      sizes="-D M=$m -D N=$n -D K=8192"
      for tile in "-D BAND=4" "-D BAND=8" "-D BAND=16" "-D STREAM=0" "-D STREAM=2" "-D BM=128 -D STAGES=6" "-D BM=128 -D TALL=2"; do
        # shellcheck disable=SC2086
        bench $sizes $tile
      done
    done
  done
}
small() {
  for n in 57344 8192; do
    for m in 128 64 32; do
      case $m in
        128) tiles="TALL=1,STAGES=8 TALL=2,STAGES=5 TALL=2,BK=32,STAGES=8 TALL=2,STAGES=5,STREAM=2" ;;
        64) tiles="TALL=1,STAGES=8 TALL=2,STAGES=8 TALL=4,BK=32,STAGES=8 TALL=2,BK=128,STAGES=4 TALL=2,STAGES=8,STREAM=2" ;;
        *) tiles="TALL=1,STAGES=12 TALL=2,STAGES=8 TALL=4,BK=32,STAGES=12 TALL=2,BK=128,STAGES=4 TALL=2,STAGES=8,STREAM=2" ;;
      esac
      for tile in $tiles; do
        # shellcheck disable=SC2046
        bench -D M=$m -D N=$n -D K=8192 -D BM=$m $(echo "$tile" | sed 's/^/-D /; s/,/ -D /g')
      done
    done
  done
}
types() {
  for type in $types; do bench -D M=1024 -D N=57344 -D K=8192 -D Q="$type"; done
}
for step in $steps; do $step; done
