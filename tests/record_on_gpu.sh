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
compare programs/transpose.tile -D PAD=0 -D SWIZZLE=5
compare programs/reduction.tile
compare programs/reduction.tile -D M=37 -D N=1025 -D ROWS=3 -D THREADS=512
compare programs/reduction.tile -D M=1 -D N=1 -D T=f16 -D THREADS=32
quantized=programs/matmul_quantized_pipelined.tile
compare $quantized
compare $quantized -D M=65 -D N=66 -D K=257 -D Q=u1 -D W=1 -D ZERO=1
compare $quantized -D M=100 -D N=200 -D K=300 -D Q=i6 -D W=6 -D ZERO=0
compare $quantized -D M=33 -D N=130 -D K=100 -D Q=f4e2m1 -D W=4 -D ZERO=0
compare $quantized -D M=128 -D N=72 -D K=512 -D Q=f8e4m3 -D W=8 -D ZERO=0 -D GROUP=128
compare $quantized -D M=7 -D N=9 -D K=40 -D Q=f3e1m1 -D W=3 -D ZERO=0
tiles=tests/bench/compare/matmul_f16.tile
compare $tiles
compare $tiles -D BM=64 -D BN=64 -D BK=32 -D WM=2 -D WN=2
compare $tiles -D BM=128 -D BN=128 -D BK=64 -D WM=2 -D WN=2 -D M=128 -D N=128 -D K=256
