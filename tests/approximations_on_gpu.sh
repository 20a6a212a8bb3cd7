#!/bin/sh
# Compares approximate instructions with a GPU, records their cases, and measures what they give a
# prompt's attention. Run from the root of the repository on a machine with a GPU, nvcc and the
# command, which TILEVM names; about three minutes:
#
#   tests/approximations_on_gpu.sh [FOLDER]        FOLDER: where results go; a temporary one
#
# FOLDER gets measured.txt (the form of tests/data/approximations_sm_90.txt), records.jsonl (for
# tests/data/fidelity_sm_90.jsonl), prefill.txt and summary.txt. Exit status: 1 if anything differs.
set -eu
folder=${1:-$(mktemp -d)}
tilevm=${TILEVM:-build/tilevm}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
mkdir -p "$folder"
summary=$folder/summary.txt
: >"$summary"
status=0

say() { echo "$*" | tee -a "$summary"; }

# attempt WHAT COMMAND..: the output goes to the summary, too.
attempt() {
  what=$1
  shift
  say "== $what"
  if "$@" >"$folder/output.txt" 2>&1; then
    cat "$folder/output.txt" >>"$summary"
    cat "$folder/output.txt"
  else
    cat "$folder/output.txt" >>"$summary"
    cat "$folder/output.txt"
    say "FAILED: $what"
    status=1
  fi
}

# All arguments of each instruction, all pairs of 16 bits, 2^33 quotients: about 20 s.
attempt "compiling" "$nvcc" -O2 -arch=native -std=c++17 -o "$folder/on_gpu" tests/approximations/on_gpu.cu
attempt "all arguments" "$folder/on_gpu" tests/data/approximations_sm_90.txt "$folder/measured.txt"

# The emitted code against the simulator.
for case in Approximation Quotient; do
  attempt "record $case" "$tilevm" record --size full --only "$case" -o "$folder/records.jsonl"
done
for file in approximations triton_softmax triton_layernorm; do
  if [ -x "${FILETEST:-build/tests/filetest}" ]; then
    attempt "$file on cuda" "${FILETEST:-build/tests/filetest}" cuda "tests/filetests/run/$file.tile"
  fi
done
attempt "softmax, sim and cuda" "$tilevm" diff programs/softmax.tile -D APPROX=1 --seeds 0..4
attempt "swiglu, sim and cuda" "$tilevm" diff programs/matmul_swiglu.tile -D APPROX=1 -D M=64 -D N=64 -D K=64
attempt "gelu, sim and cuda" "$tilevm" diff programs/matmul_gelu.tile -D APPROX=1 -D M=64 -D N=64 -D K=64
attempt "prefill, sim and cuda" "$tilevm" diff programs/attention/prefill.tile --entry equal_lengths \
  -D S=1 -D TOKENS=256 -D LONGEST=256 -D H=2 -D R=2 -D APPROX=1

# A prompt of 4,096 tokens with and without, in turn on one GPU.
: >"$folder/prefill.txt"
for round in 1 2 3; do
  for approx in 0 1; do
    attempt "prefill, APPROX=$approx, round $round" "$tilevm" bench programs/attention/prefill.tile \
      --entry equal_lengths --kernel prefill -D S=1 -D TOKENS=4096 -D LONGEST=4096 -D H=32 -D R=4 \
      -D APPROX=$approx --no-check --no-peak
    { echo "APPROX=$approx, round $round"; cat "$folder/output.txt"; } >>"$folder/prefill.txt"
  done
done
say "status $status, results in $folder"
exit $status
