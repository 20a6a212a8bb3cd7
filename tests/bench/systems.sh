#!/bin/sh
# Times the programs of the papers' systems and the first kernels, the most important first. Run from the root of the
# repository on a machine with a GPU; docs/results/systems_2026_11_27.md shows the results.
#
#   tests/bench/systems.sh [FILE]         FILE: tests/bench/results/systems.jsonl, overwritten
#   tests/bench/systems.sh --list         the rows: only their command lines
#   tests/bench/systems.sh --compile      no GPU: each row compiled for sm_90a; a kernel that spills is an error
#
#   SYSTEMS_ROWS=REGEX    only the rows whose command line matches, such as 'flute.*W=3' or 'decode|softmax'
#   SYSTEMS_EQUAL=1       compares the file tests of all programs with the GPU first, bit for bit
#   TILEVM, FILETEST      build/tilevm, build/tests/filetest
#   JOBS                  how many rows are compiled at a time before the first is timed (8)
#
# All kernels are compiled first, several at a time, so that a row takes its measurement only. A row that fails says why, and
# the next one follows; the exit status is then 1.
set -eu
mode="time"
case ${1:-} in --list | --compile)
  mode=${1#--}
  shift
  ;;
esac
results=${1:-tests/bench/results/systems.jsonl}
tilevm=${TILEVM:-build/tilevm}
filetest=${FILETEST:-build/tests/filetest}
pattern=${SYSTEMS_ROWS:-.}
rows=$(mktemp)
failures=$(mktemp)
trap 'rm -f "$rows" "$failures"' EXIT

# row FILE OPTIONS: a row of the table, if it is wanted
row() {
  if printf '%s\n' "$*" | grep -Eq -e "$pattern"; then printf '%s\n' "$*" >>"$rows"; fi
}

large="-D K=8192 -D N=57344"
square="-D K=8192 -D N=8192"
small="-D K=4096 -D N=4096"

# flute BITS ROWS SHAPE OPTIONS
flute() {
  row programs/flute/matmul.tile --kernel matmul --baseline cublas -D "W=$1" -D "M=$2" "$3" "$4"
}

# marlin ROWS SHAPE OPTIONS
marlin() {
  row programs/marlin/matmul.tile --kernel matmul --baseline cublas -D "M=$1" "$2" "$3"
}

sparse() {
  row programs/marlin/sparse_matmul.tile --kernel matmul -D "M=$1" "$2" "$3"
}

# decode CACHE SEQUENCES CONTEXT SPLIT: 8 heads of the cache, each for 8 queries, as in models of 70B. A tensor has at
# most 4 GiB, so the keys of 128 sequences of 32,768 tokens in 16 bits (8 GiB) have no row; all others fit into 75 GiB.
decode() {
  pages=$(($3 / 128))
  check=""
  if [ $(($2 * $3)) -gt 2000000 ]; then check=--no-check; fi
  row programs/attention/decode.tile --kernel decode --in table=iota --in length=full:"$3" -D "Q=$1" -D "S=$2" -D R=8 \
    -D PAGES=$(($2 * pages)) -D TABLE=$pages -D P=128 -D STAGES=2 -D "SPLIT=$4" $check
}

# Tables of pairs, and as many blocks as shared memory has on the multiprocessors
large4="-D COPIES=32 -D DEPTH=2 -D STAGES=3 -D BLOCKS=264"
large3="-D COPIES=32 -D STAGES=4 -D FOLD=1 -D BLOCKS=396"
large2="-D COPIES=32 -D STAGES=4 -D BLOCKS=528"
large64="-D COPIES=32 -D BM=64 -D BN=128 -D BLOCKS=264"
flute 4 16 "$large" "$large4"
flute 3 16 "$large" "$large3"
flute 2 16 "$large" "$large2"
sparse 16 "$large" "-D BLOCKS=264"
decode u4 32 32768 4
decode u8 32 32768 4
decode f16 32 32768 2
# dense M N K OPTIONS
dense() {
  size="-D M=$1 -D N=$2 -D K=$3"
  shift 3
  row programs/matmul.tile --kernel matmul --baseline cublas "$size" "$@"
}
for n in 8192 4096 2048; do
  dense $n $n $n
  dense $n $n $n -D T=bf16
  dense $n $n $n -D TRANSPOSED=true
  dense $n $n $n -D T=f8e4m3
done
row programs/rmsnorm_residual.tile -D M=32768 -D N=8192 -D THREADS=64
row programs/softmax.tile -D M=32768 -D N=4096
row programs/layernorm.tile -D M=32768 -D N=4096
row programs/rope.tile -D TOKENS=8192 -D H=32

flute 4 16 "$large" "-D COPIES=0 -D BLOCKS=528"
marlin 16 "$large" "-D BLOCKS=264"
flute 4 1 "$large" "$large4"
flute 3 1 "$large" "$large3"
flute 2 1 "$large" "$large2"
for bits in 4 3 2; do flute $bits 64 "$large" "$large64"; done
marlin 1 "$large" "-D BLOCKS=264"
marlin 64 "$large" "-D BM=64"
sparse 1 "$large" "-D BLOCKS=264"
sparse 64 "$large" "-D BM=32 -D BLOCKS=396"
# Each block that a column of tiles of a small shape has more is one more that waits for the others' sums. At 8192
# columns two blocks a multiprocessor are worth it.
# flute_point SHAPE BITS ROWS
flute_point() {
  case $3,$1,$2 in
    64,*) echo "-D COPIES=32 -D BN=128 -D BM=64" ;;
    *,"$square",*) echo "-D COPIES=32 -D BN=128 -D BLOCKS=264" ;;
    *,4) echo "-D COPIES=0 -D BN=128" ;;
    *,2) echo "-D COPIES=32 -D BN=128 -D DEPTH=2 -D STAGES=3" ;;
    *) echo "-D COPIES=32 -D BN=128" ;;
  esac
}
for m in 16 1 64; do
  rows_of_tile=16
  if [ $m = 64 ]; then rows_of_tile=32; fi
  for shape in "$square" "$small"; do
    for bits in 4 3 2; do flute $bits $m "$shape" "$(flute_point "$shape" $bits $m)"; done
    marlin $m "$shape" "-D BN=128 -D BM=$((m == 64 ? 64 : 16))"
    sparse $m "$shape" "-D BN=128 -D BM=$rows_of_tile"
  done
done

for cache in u4 u8 f16; do
  decode $cache 128 4096 1
  decode $cache 32 4096 1
  decode $cache 8 4096 4
  decode $cache 1 4096 16
  decode $cache 8 32768 4
  decode $cache 1 32768 16
done
row programs/attention/prefill.tile --entry equal_lengths --kernel prefill -D S=1 -D TOKENS=4096 \
  -D LONGEST=4096 -D H=32 -D R=4

planes="programs/apt_llm/matmul.tile --kernel matmul"
for bits in 2 1; do
  row "$planes" -D W=$bits -D A=$bits -D M=64 -D N=4096 -D K=4096
done
row programs/matmul_swiglu.tile -D M=4096 -D N=4096 -D K=4096 -D BM=128
row programs/histogram.tile -D N=1073741824 -D BLOCKS=792 --kernel count
row programs/dequantize.tile -D K=16384 -D N=16384
row programs/top_k.tile -D M=256
row programs/scan.tile -D M=16384 -D N=8192 -D WIDTH=1024
for cache in u4 u8; do decode $cache 128 32768 1; done
for bits in 2 1; do
  row "$planes" -D W=$bits -D A=$bits -D M=8192 -D N=8192 -D K=8192 -D BM=32 -D STAGES=2
done

if [ ! -s "$rows" ]; then
  echo "no row matches SYSTEMS_ROWS='$pattern'; $0 --list shows them" >&2
  exit 2
fi
if [ "$mode" = list ]; then
  cat "$rows"
  exit
fi

# Compiles a row, which puts its kernels into the cache, and tells what spills. Options of `bench` are not for `compile`.
compile_row() {
  # shellcheck disable=SC2046  # lists of options are split on purpose
  set -- $(printf '%s\n' "$1" | sed -E 's/--(kernel|baseline|in|entry) [^ ]+//g; s/--no-check//')
  if ! report=$("$tilevm" compile "$@" --target sm_90a --explain -o /dev/null 2>&1) ||
    printf '%s\n' "$report" | grep -Eq 'registers .* [1-9][0-9]* bytes spilled'; then
    printf '== %s\n%s\n' "$*" "$report" | grep -E '^==|error|registers' >&2
    echo x >>"$failures"
  fi
}
n=0
while read -r line; do
  compile_row "$line" &
  n=$((n + 1))
  if [ $((n % ${JOBS:-8})) = 0 ]; then wait; fi
done <"$rows"
wait
if [ "$mode" = time ]; then
  if [ -n "${SYSTEMS_EQUAL:-}" ]; then
    find programs -name '*.tile' -print0 | xargs -0 -P 8 -n 1 "$filetest" cuda
  fi
  rm -f "$results"
  while read -r line; do
    echo "== $line"
    # shellcheck disable=SC2086  # a row is a list of options
    "$tilevm" bench $line -o "$results" </dev/null || echo x >>"$failures"
  done <"$rows"
fi
[ ! -s "$failures" ]
