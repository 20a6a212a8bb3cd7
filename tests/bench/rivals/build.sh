#!/bin/sh
# Builds MARLIN and Sparse-MARLIN for sm_90a with nvcc and gathers what run.sh needs in a folder that can be carried to
# the machine with the GPU. docs/bench.md, Beside other kernels, tells where the sources come from.
#
#   tests/bench/rivals/build.sh SOURCES OUT
#
# SOURCES has the clones `marlin` and `Sparse-Marlin`, which are not changed. Two things differ in what is compiled: copies
# with a cache hint become plain ones, because the hinted one is an illegal instruction on Hopper, and nvcc gets
# --expt-relaxed-constexpr.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sources=$1
out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# without_hint FILE: its text with a plain copy
without_hint() {
  sed '/createpolicy\.fractional/d; /"   \.reg \.b64 p;/d; s/\.L2::cache_hint \(\[%0\], \[%1\], %2\), p;/ \1;/' "$1"
}
# build NAME FOLDER
build() {
  nvcc -arch=sm_90a -O3 -std=c++17 --expt-relaxed-constexpr -diag-suppress 39,177,179 -shared -Xcompiler -fPIC \
    -cudart static -I "$2" -o "$out/lib$1.so" "$here/$1.cu"
  strip "$out/lib$1.so"
}

mkdir -p "$work/marlin" "$work/sparse"
without_hint "$sources/marlin/marlin/marlin_cuda_kernel.cu" >"$work/marlin/marlin_cuda_kernel.cu"
build marlin "$work/marlin"

cp -r "$sources/Sparse-Marlin/marlin/common" "$sources/Sparse-Marlin/marlin/marlin_cuda_kernel_nm.cu" "$work/sparse"
without_hint "$sources/Sparse-Marlin/marlin/common/mem.h" >"$work/sparse/common/mem.h"
build sparse_marlin "$work/sparse"

# Their order of weights is told by their Python.
for name in marlin Sparse-Marlin; do
  mkdir -p "$out/python/$name"
  cp "$sources/$name/marlin/"*.py "$out/python/$name"
done
