#!/bin/sh
# Compares simulator and GPU bit for bit and records what the GPU gave: 20 seeds a case, random bit
# patterns of every exponent. Run from the root of the repository on a machine with a GPU:
#
#   tests/record_on_gpu.sh [FILE]        FILE: tests/data/recorded.jsonl
#
# The test "the simulator gives what GPUs gave" repeats every record without a GPU.
set -eu
record=${1:-tests/data/recorded.jsonl}
tilevm=${TILEVM:-build/tilevm}
rm -f "$record"

compare() {
  echo "== $*"
  "$tilevm" diff "$@" --wild --seeds 0..19 --record "$record"
}

matmul=programs/matmul_f16_i6.tile
compare $matmul
compare $matmul -D M=1 -D N=8 -D K=16
compare $matmul -D M=17 -D N=9 -D K=33
compare $matmul -D M=100 -D N=200 -D K=300
compare $matmul -D M=255 -D N=257 -D K=1025
compare $matmul -D M=64 -D N=1024 -D K=2048
compare programs/figure2.tile
compare programs/vector_add.tile
compare programs/vector_add.tile -D N=1
compare programs/matmul_f16_pipelined.tile -D M=300 -D N=200 -D K=333
compare programs/matmul_f16_pipelined.tile
compare programs/transpose.tile
