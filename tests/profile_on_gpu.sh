#!/bin/sh
# Records what NVIDIA's profiler counts, for the test "the simulator counts what the profiler of a
# GPU counts". Run from the root of the repository on a machine with a GPU and Nsight Compute (ncu):
#
#   tests/profile_on_gpu.sh [FILE]        FILE: tests/data/profiled.txt
#
# A line `run FILE ARGUMENTS` begins a run; after it comes a line for each kernel, with sums over its
# launches: name, then the counters of `names` below, in this order.
set -eu
record=${1:-tests/data/profiled.txt}
tilevm=${TILEVM:-build/tilevm}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

names="l1tex__t_requests_pipe_lsu_mem_global_op_ld l1tex__t_sectors_pipe_lsu_mem_global_op_ld
smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts
l1tex__t_requests_pipe_lsu_mem_global_op_st l1tex__t_sectors_pipe_lsu_mem_global_op_st
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st
sm__inst_executed_pipe_tensor sm__inst_executed_pipe_tensor_op_hmma_type_hfma2"
metrics=$(for name in $names; do echo "$name.sum"; done | paste -sd, -)

# The table of ncu as lines: kernel and counters, summed over the launches, in their order.
to_lines() {
  awk -v metrics="$metrics" '
    !/^"/ { next }
    { line = substr($0, 2, length($0) - 2); count = split(line, field, "\",\"") }
    !names { for (i = 1; i <= count; i++) column[field[i]] = i; names = 1
             wanted = split(metrics, metric, ","); next }
    !units { units = 1; next }
    { name = field[column["Kernel Name"]]; sub(/_kernel$/, "", name)
      if (!(name in seen)) { seen[name] = 1; order[++kernels] = name }
      for (m = 1; m <= wanted; m++) {
        value = field[column[metric[m]]]; gsub(",", "", value)
        total[name, m] += value
      } }
    END { for (k = 1; k <= kernels; k++) {
            printf "%s", order[k]
            for (m = 1; m <= wanted; m++) printf " %.0f", total[order[k], m]
            printf "\n" } }' "$1"
}

profile() {
  echo "run $*" >>"$folder/record"
  ncu --clock-control none --cache-control none --csv --page raw --print-units base \
    --metrics "$metrics" --log-file "$folder/table" \
    "$tilevm" run "$@" --engine cuda >"$folder/output" 2>&1 || {
    cat "$folder/output" "$folder/table"
    exit 1
  }
  to_lines "$folder/table" | tee -a "$folder/record"
}

{
  echo "# $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)"
  echo "# $(ncu --version | tail -1)"
  echo "# kernel $(echo "$metrics" | tr , ' ')"
} >"$folder/record"

profile programs/vector_add.tile
profile programs/figure2.tile -D M=256 -D N=256 -D K=256
profile programs/matmul_f16_i6.tile -D M=128 -D N=64 -D K=96
profile programs/matmul_f16_i6.tile -D M=17 -D N=9 -D K=33
profile programs/transpose.tile
profile programs/transpose.tile -D M=64 -D N=96 -D T=u8
profile programs/matmul_f16_pipelined.tile
profile programs/matmul_f16_pipelined.tile -D M=65 -D N=30 -D K=77
profile tests/profile/transposes.tile
profile tests/profile/transposes.tile -D T=f64
profile tests/profile/transposes.tile -D T=f16
profile tests/profile/shared.tile
profile tests/profile/global.tile
profile tests/profile/wide.tile
profile tests/profile/copies.tile
mv "$folder/record" "$record"
