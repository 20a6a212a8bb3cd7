#!/bin/sh
# Copies by tensor maps on a GPU of sm_90: results against the simulator, and compute-sanitizer. By hand, outside of the
# tests, which have no GPU: tests/tensor_maps_on_gpu.sh [build/tilevm]
set -eu
cd "$(dirname "$0")/.."
tilevm=${1:-build/tilevm}
run=tests/filetests/run
differ() {
  echo "diff $*"
  "$tilevm" diff "$@" --engines sim,cuda --seeds 20
}
differ $run/tensor_ring.tile
differ $run/tensor_ranks.tile --entry one --in 'x_ptr=u8[40]=rand:1' --in n=40
differ $run/tensor_ranks.tile --entry two --in 'x_ptr=i32[19,40]=rand:1' --in n=19
differ $run/tensor_ranks.tile --entry three --in 'x_ptr=f32[3,4,16]=rand:1' --in n=4
differ $run/tensor_ranks.tile --entry four --in 'x_ptr=f16[2,3,5,64]=rand:1' --in n=3
differ $run/tensor_ranks.tile --entry five --in 'x_ptr=i64[2,2,2,3,4]=rand:1' --in n=2
differ $run/tensor_nan.tile
differ $run/tensor_panels.tile
differ $run/tensor_store.tile
differ $run/tensor_store_read_back.tile
for size in '-D M=512 -D N=512 -D K=512' '-D M=65 -D N=200 -D K=72' '-D M=1 -D N=8 -D K=8'; do
  # shellcheck disable=SC2086
  differ programs/matmul_tensor_map.tile $size
done
command -v compute-sanitizer > /dev/null || { echo "compute-sanitizer was not found"; exit 0; }
for tool in memcheck racecheck synccheck; do
  for file in $run/tensor_ring.tile $run/tensor_panels.tile $run/tensor_store.tile programs/matmul_tensor_map.tile; do
    echo "$tool $file"
    compute-sanitizer --tool $tool --error-exitcode 1 "$tilevm" run "$file" --engine cuda > /dev/null
  done
done
