#!/bin/sh
# Times programs/quantized_matmul/ for weights of every type, and the same of i8, beside cuBLAS and a
# kernel that only reads, and compares each with the simulator bit for bit on a reduced size. Run from
# the root of the repository on a machine with a GPU; docs/results/quantized_2026_11_25.md shows the results.
#
#   tests/bench/quantized_matmul.sh [FILE]      FILE: tests/bench/results/quantized_matmul.jsonl
#   tests/bench/quantized_matmul.sh --list      only prints what is timed, a program and its constants a line
set -eu
pass=compare
if [ "${1:-}" = --list ]; then
  pass=list
  shift
fi
results=${1:-tests/bench/results/quantized_matmul.jsonl}
tilevm=${TILEVM:-build/tilevm}

# The tile that was fastest for a type of weights among a few tens of points.
wide="-D BN=448 -D WARPS=14"
i3_tile="-D BN=448 -D WARPS=8 -D SLICES=2 -D BK=512 -D UNROLL=1 -D STAGES=2"
tile_of() {
  case $1 in
    u1)
      echo "-D SWAP=1 $wide -D SLICES=2 -D BK=1024 -D UNROLL=2 -D STAGES=2 -D SCALE=f32" \
        "-D SPLIT_BARRIERS=1"
      ;;
    u2) echo "-D SWAP=1 $wide -D SLICES=2 -D BK=512 -D STAGES=2 -D SCALE=f32 -D SPLIT_BARRIERS=1" ;;
    u3) echo "-D SWAP=1 $wide -D SLICES=2 -D BK=512 -D UNROLL=1 -D STAGES=2" ;;
    i2)
      echo "$wide -D SLICES=2 -D BK=512 -D UNROLL=1 -D STAGES=2 -D SCALE=f32" \
        "-D SPLIT_BARRIERS=1"
      ;;
    i3) echo "$i3_tile -D SCALE=f32 -D SPLIT_BARRIERS=1" ;;
    f3*) echo "-D SWAP=1 $wide -D SLICES=2 -D BK=256 -D STAGES=2 -D SCALE=f32 -D SPLIT_BARRIERS=1" ;;
    f5*) echo "-D SWAP=1 $wide -D SLICES=2 -D BK=256 -D STAGES=2 -D SPLIT_BARRIERS=1" ;;
    f6*) echo "$wide -D SLICES=2 -D BK=256 -D STAGES=2 -D SPLIT_BARRIERS=1" ;;
    f7* | *8*) echo "$wide -D BK=128 -D STAGES=3" ;;
    *) echo "$wide -D SLICES=2 -D BK=256 -D STAGES=2" ;;
  esac
}
# The tile for up to 8 rows.
few_tile_of() {
  case $1 in
    u1) echo "-D SWAP=1 -D BN=448 -D WARPS=7 -D SLICES=4 -D BK=1024 -D UNROLL=1 -D STAGES=2" ;;
    u[23]) echo "-D SWAP=1 $wide -D SLICES=2 -D BK=512 -D STAGES=2" ;;
    i2)
      echo "-D SWAP=1 -D BN=448 -D WARPS=7 -D SLICES=4 -D BK=512 -D STAGES=2 -D SCALE=f32" \
        "-D SPLIT_BARRIERS=1"
      ;;
    i3) echo "-D SWAP=1 $wide -D SLICES=2 -D BK=512 -D STAGES=2 -D SPLIT_BARRIERS=1" ;;
    f[3-5]*) echo "-D SWAP=1 $wide -D SLICES=2 -D BK=256 -D STAGES=2 -D SPLIT_BARRIERS=1" ;;
    *) echo "-D SWAP=1 $(tile_of "$1")" ;;
  esac
}
# For 16 rows of bf16, where some need more registers.
bf16_tile_of() {
  case $1 in
    u1) echo "-D SWAP=1 $wide -D SLICES=2 -D BK=512 -D STAGES=2 -D SCALE=f32" ;;
    u[23]) echo "-D SWAP=1 $wide -D SLICES=2 -D BK=512 -D UNROLL=1 -D STAGES=2 -D SCALE=f32" ;;
    i2) echo "$i3_tile" ;;
    i3) echo "$i3_tile -D SPLIT_BARRIERS=1" ;;
    f[35]*) echo "-D SWAP=1 $wide -D SLICES=2 -D BK=256 -D STAGES=2" ;;
    f6*) echo "$wide -D SLICES=2 -D BK=256 -D STAGES=2" ;;
    i5 | f7*) echo "$wide -D BK=256 -D STAGES=2" ;;
    i[67]) echo "$wide -D BK=128 -D STAGES=3" ;;
    *) tile_of "$1" ;;
  esac
}
# The comparisons come first, all at a time: each is a line of options. Then the kernels are timed.
comparisons=$(mktemp)
trap 'rm -f "$comparisons"' EXIT
title() { [ $pass != bench ] || echo "== $1"; }
# compare M N K OPTION..
# SPLIT of few_rows.tile follows from the sizes: the reduced problem is given that of the whole one.
compare() {
  [ $pass = compare ] || return 0
  sizes="-D M=$1 -D N=$2 -D K=$3"
  shift 3
  echo "$program --seeds 0..4 $tile $sizes $*" >>"$comparisons"
}
split="-D SPLIT=1"
equal() { compare "$rows" 448 3072 "$@" "$split"; }
bench() {
  # shellcheck disable=SC2086  # here, too
  [ $pass != list ] || echo $program $tile "$@"
  [ $pass = bench ] || return 0
  # shellcheck disable=SC2086  # lists of options are split on purpose
  "$tilevm" bench $program --kernel matmul --baseline cublas --verify-against reference \
    -o "$results" $tile "$@"
}

types="u1 u2 u3 u4 u5 u6 u7 u8 i2 i3 i4 i5 i6 i7 i8 f3e1m1 f4e2m1 f5e2m2 f6e3m2 f7e3m3 f8e4m3"
u4="-D Q=u4"

# u4_row TITLE M N TILE OPTION..
u4_row() {
  title "$1"
  rows=$2 columns=$3 tile=$4
  shift 4
  # shellcheck disable=SC2086
  equal $u4
  # shellcheck disable=SC2086
  bench $u4 -D M="$rows" -D K=8192 -D N="$columns" "$@"
}

# With many rows: rows of a, rows of the reduced size, tile.
many() {
  title "$1 rows"
  rows=$1 few=$2 tile=$3
  # shellcheck disable=SC2086
  compare "$few" 448 512 $u4
  # shellcheck disable=SC2086
  bench $u4 -D M="$rows" -D K=8192 -D N=57344
}

all_rows() {
  program=programs/quantized_matmul/few_rows.tile
  for type in $types; do
    for rows in 16 1; do
      case $rows in
        16) tile=$(tile_of "$type") ;;
        *) tile=$(few_tile_of "$type") ;;
      esac
      title "$type, m = $rows"
      equal -D Q="$type"
      bench -D Q="$type" -D M=$rows -D K=8192 -D N=57344
    done
  done
  rows=16
  for type in $types; do
    tile=$(bf16_tile_of "$type")
    title "$type x bf16"
    equal -D T=bf16 -D Q="$type"
    bench -D T=bf16 -D Q="$type" -D M=16 -D K=8192 -D N=57344
  done
  one="-D SWAP=1 -D BN=64 -D WARPS=2 -D SLICES=8 -D BK=1024 -D STAGES=3"
  u4_row "8192 x 8192" 16 8192 "$one"
  u4_row "8192 x 8192, m = 1" 1 8192 "$one"
  split="-D SPLIT=2"
  u4_row "8192 x 8192, blocks share K" 16 8192 \
    "-D BN=128 -D WARPS=4 -D SLICES=4 -D BK=512 -D STAGES=3"
  split="-D SPLIT=1"
  u4_row "zero points" 16 57344 "-D ZEROS=1 $wide -D SLICES=2 -D BK=256 -D STAGES=2"

  program=programs/quantized_matmul/many_rows.tile
  many 64 60 "-D SWAP=1 -D BM=64 $wide -D BK=128 -D STAGES=2"
  many 256 250 "-D BM=128 -D BN=128 -D BK=64 -D WARPS=4 -D STAGES=4"
  many 4096 250 "-D BM=128 -D BN=384 -D BK=128 -D WARPS=12 -D STAGES=2 -D BAND=4"

  program=programs/quantized_matmul_i8.tile
  split=
  # Scales of the rows up to 1 would take c beyond f16.
  u4_row "i8" 16 57344 "-D W=4 $wide -D SLICES=2 -D BK=256 -D STAGES=3" --in rows=full:0.0009765625
}

all_rows
[ $pass != list ] || exit 0
# shellcheck disable=SC2016  # the inner shell's
xargs -L 1 -P 8 sh -c 'text=$("$0" diff "$@" 2>&1); state=$?; printf "== %s\n%s\n" "$*" "$text"; exit $state' \
  "$tilevm" <"$comparisons"
pass=bench
rm -f "$results"
all_rows
