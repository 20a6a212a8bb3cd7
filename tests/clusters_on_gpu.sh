#!/bin/sh
# Clusters on a GPU of sm_90: results against the simulator, and compute-sanitizer. By hand, outside of the tests, which
# have no GPU: tests/clusters_on_gpu.sh [build/tilevm]
set -eu
cd "$(dirname "$0")/.."
tilevm=${1:-build/tilevm}
run=tests/filetests/run
differ() {
  echo "diff $*"
  "$tilevm" diff "$@" --engines sim,cuda --seeds 20
}
differ $run/cluster_ring.tile
differ $run/cluster_multicast.tile
differ $run/cluster_multicast.tile -D BLOCKS=4
differ $run/cluster_halves.tile
for size in '-D M=512 -D N=512 -D K=512' '-D M=300 -D N=200 -D K=136' '-D M=1 -D N=8 -D K=8'; do
  # shellcheck disable=SC2086
  differ programs/matmul_cluster.tile --target sm_90a $size
done
command -v compute-sanitizer > /dev/null || { echo "compute-sanitizer was not found"; exit 0; }
for tool in memcheck racecheck synccheck; do
  for file in $run/cluster_ring.tile $run/cluster_multicast.tile $run/cluster_halves.tile programs/matmul_cluster.tile; do
    echo "$tool $file"
    compute-sanitizer --tool $tool --error-exitcode 1 "$tilevm" run "$file" --target sm_90a --engine cuda > /dev/null
  done
done
