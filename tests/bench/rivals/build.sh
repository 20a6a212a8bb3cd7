#!/bin/sh
# Builds MARLIN, Sparse-MARLIN and FLUTE for sm_90a with nvcc and gathers what run.sh needs in a folder that can be carried
# to the machine with the GPU. docs/guides/bench.md, Beside other kernels, tells where the sources come from.
#
#   tests/bench/rivals/build.sh SOURCES OUT [NAME..]      NAME: marlin, sparse_marlin, flute; all of them if left out
#
# FLUTE takes two minutes of a core and 5.4 GB of memory for each of its three libraries, of 4, 3 and 2 bits, which are built at
# the same time; those that OUT has are not built again.
#
# SOURCES has the clones `marlin`, `Sparse-Marlin`, `flute`, and `cutlass` of version 3.4.1 for FLUTE; they are not changed.
# Two things of MARLIN and Sparse-MARLIN differ in what is compiled: copies with a cache hint become plain ones, because
# the hinted one is an illegal instruction on Hopper, and nvcc gets --expt-relaxed-constexpr.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sources=$1
out=$2
shift 2
names=${*:-marlin sparse_marlin flute}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# without_hint FILE: its text with a plain copy
without_hint() {
  sed '/createpolicy\.fractional/d; /"   \.reg \.b64 p;/d; s/\.L2::cache_hint \(\[%0\], \[%1\], %2\), p;/ \1;/' "$1"
}
# build NAME SOURCE OPTION..
build() {
  name=$1
  source=$2
  shift 2
  nvcc -arch=sm_90a -O3 -std=c++17 --expt-relaxed-constexpr -diag-suppress 39,177,179 -shared -Xcompiler -fPIC,-Wno-deprecated-declarations \
    -cudart static "$@" -o "$work/lib$name.so" "$here/$source"
  strip "$work/lib$name.so"
  mv "$work/lib$name.so" "$out"
}
# python NAME FILE..: the Python that tells a rival's order of weights
python() {
  mkdir -p "$out/python/$1"
  name=$1
  shift
  cp "$@" "$out/python/$name"
}

for name in $names; do
  case $name in
    marlin)
      mkdir "$work/marlin"
      without_hint "$sources/marlin/marlin/marlin_cuda_kernel.cu" >"$work/marlin/marlin_cuda_kernel.cu"
      build marlin marlin.cu -I "$work/marlin"
      python marlin "$sources/marlin/marlin/"*.py
      ;;
    sparse_marlin)
      mkdir "$work/sparse"
      cp -r "$sources/Sparse-Marlin/marlin/common" "$sources/Sparse-Marlin/marlin/marlin_cuda_kernel_nm.cu" "$work/sparse"
      without_hint "$sources/Sparse-Marlin/marlin/common/mem.h" >"$work/sparse/common/mem.h"
      build sparse_marlin sparse_marlin.cu -I "$work/sparse"
      python Sparse-Marlin "$sources/Sparse-Marlin/marlin/"*.py
      ;;
    flute)
      for bits in 4 3 2; do
        [ -e "$out/libflute$bits.so" ] || build flute$bits flute.cu -DBITS=$bits -I "$sources/flute/flute/csrc" -I "$sources/cutlass/include" &
      done
      wait
      for bits in 4 3 2; do [ -e "$out/libflute$bits.so" ]; done
      python flute "$sources/flute/flute/utils.py" "$sources/flute/flute/packbits_utils.py"
      ;;
    *)
      echo "build.sh: $name is none of marlin, sparse_marlin and flute" >&2
      exit 2
      ;;
  esac
done
