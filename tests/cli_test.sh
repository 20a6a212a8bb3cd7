#!/bin/sh
# The command line as a user meets it: cli_test.sh TILEVM FAKE_DRIVER, run from the root of the
# repository.
# Each case: the expected status, a piece of text that must appear, and the command.
# shellcheck disable=SC2016  # backquotes are part of the messages
set -u
tilevm=$1
fake_driver=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset TILEVM_CACHE
export TILEVM_CACHE_DIR="$folder/cache"
failed=0
count=0

expect() {
  status=$1
  text=$2
  shift 2
  count=$((count + 1))
  "$tilevm" "$@" >"$folder/out" 2>"$folder/err" </dev/null
  got=$?
  if [ "$got" -ne "$status" ] || ! cat "$folder/out" "$folder/err" | grep -qF -e "$text"; then
    failed=$((failed + 1))
    echo "FAIL tilevm $*: status $got, expected $status and: $text"
    cat "$folder/out" "$folder/err"
  fi
}

add=programs/vector_add.tile

# Mistyped words: one line, status 2, and what was meant.
expect 2 'unknown command `rnu`; did you mean `run`?' rnu x.tile
expect 2 'unknown command `frobnicate`' frobnicate
expect 2 'unknown option `--jsn`; did you mean `--json`?' run --jsn $add
expect 2 'is one operand too many' run $add more
expect 2 'file is required' run
expect 2 'cannot open `nowhere.tile`: No such file or directory' check nowhere.tile
expect 2 'cannot read `programs`: Is a directory' check programs
expect 2 'unknown target `sm_91`; did you mean `sm_90`?' check $add --target sm_91
expect 2 'unknown engine `smi`' run $add --engine smi
expect 2 'is not a seed of `random`' run $add --engine emu --thread-order random:x
expect 2 'unknown size `ful`; did you mean `full`?' record --size ful
expect 2 'names no case' record --engine sim --only f99
expect 2 'has no records' record --report nowhere.jsonl
expect 2 'is not a seed' run $add --seed -1
expect 2 'name a file' tune -
expect 2 'is not an assignment: write -D NAME=VALUE' tune $add --reduce N
expect 2 'there is no file `nowhere.jsonl`' tune $add --start nowhere.jsonl
expect 2 'unknown baseline `cubblas`; did you mean `cublas`?' bench $add --baseline cubblas
expect 2 'is not a seed' run $add --seed 18446744073709551616
expect 2 '--threads' run $add --threads abc
expect 2 'NAME=VALUE' run $add -D N
expect 2 'the file has no such constant; did you mean `TILE`?' check $add -D TILES=3
expect 2 '-D N=abc: unknown name `abc`' run $add -D N=abc
expect 1 'unknown layout `clumn_local`; did you mean `column_local`?' layout 'clumn_local(2, 2)'
expect 2 'cannot write `/no/such/folder/c.npy`' run $add --out c=/no/such/folder/c.npy
expect 2 'cannot write `/no/such/folder/x`' compile $add --emit cuda -o /no/such/folder/x
expect 2 '--color' check $add --color sometimes

expect 2 'unknown command `nope`' help nope
expect 2 'unknown command `rnu`; did you mean `run`?' help rnu
expect 0 'tilevm run programs' help run
long=$(head -c 100000 /dev/zero | tr '\0' x)
expect 2 '(100000 bytes)' check $add -D "$long"
expect 2 '(100000 bytes)' "$long"
expect 2 '(100002 bytes)' check $add "--$long"

# Programs to read and to begin with, wherever the command is called.
expect 0 'programs/vector_add.tile' examples
expect 0 '"program": "programs/transpose.tile"' examples --json
expect 0 'y = x transposed' examples transpose
expect 2 'did you mean `programs/softmax.tile`?' examples programs/sofmax.tile
expect 0 'wrote' new "$folder/first.tile"
expect 2 'exists already; name a new file' new "$folder/first.tile"
expect 0 'y: f32[128]' run "$folder/first.tile" --in x=iota
expect 0 'wrote' new "$folder/second.tile" --from transpose
expect 0 'ok' check "$folder/second.tile"
tilevm_path=$(realpath "$tilevm")
if ! (cd "$folder" && "$tilevm_path" check programs/figure2.tile >/dev/null); then
  failed=$((failed + 1))
  echo "FAIL a shipped program is not found outside of the checkout"
fi

# CUDA C++ to be read: the kernels alone, with lines of their own.
expect 0 'First the device prelude, then the program, from line' compile $add
expect 2 '--no-prelude goes with --emit cuda' compile $add --emit ptx --no-prelude
"$tilevm" compile $add >"$folder/whole.cu"
first=$(sed -n '1s/.*from line \([0-9]*\) on.*/\1/p' "$folder/whole.cu")
if [ "$(sed -n "${first}p" "$folder/whole.cu")" != '#line 1 "definitions"' ]; then
  failed=$((failed + 1))
  echo "FAIL the program does not begin where the first line says: line $first"
fi
"$tilevm" compile $add --no-prelude --no-lines >"$folder/short.cu"
if grep -q '#line' "$folder/short.cu" || [ "$(wc -l <"$folder/short.cu")" -gt 100 ] ||
  ! grep -q 'TV_KERNEL' "$folder/short.cu"; then
  failed=$((failed + 1))
  echo "FAIL --no-prelude --no-lines"
fi
expect 2 'name a file, not standard input' tune $add --in a=-
expect 2 'is not an assignment' tune $add --in a

# Help opens with commands that work as they stand.
for command in examples new run diff record check fmt layout isa explain compile cache doctor demo triton pack completion man; do
  expect 0 "  tilevm $command" $command --help
done
expect 0 'tilevm demo' --help
TILEVM_PYTHON=/nowhere/python expect 3 'in TILEVM_PYTHON' triton kernel.ttgir
TILEVM_PYTHON=/nowhere/python expect 3 'in TILEVM_PYTHON' pack folder
expect 0 'tilevm 0.' --version

# The rest of the line reaches the commands.
expect 0 'c: f32[5], hash 248bd2a8fc3a3568' run $add -DN=5 --in a=iota --in b=full:0.5
expect 0 '"status": 0}' run --json $add -D N=5
expect 2 'max-steps' run --max-steps 0 $add
expect 4 'TV0402' run --max-steps 5 $add
expect 0 'LoadGlobal at 44:5 takes 1.12 times the sectors it needs' run --stats programs/transpose.tile
expect 0 '"sectors": 25000' run --stats --json $add
expect 0 'c        f32         5     0.25' run --shadow $add -D N=5
expect 0 '"shadow": {"outputs": [{"name": "c"' run --shadow --json $add -D N=5
expect 2 '`--shadow` needs the simulator' run --shadow $add --engine cuda
expect 0 'c: exact (5 elements' diff $add -D N=5 --engines sim,sim
expect 0 'c: exact in sim and sim (5 elements' diff $add -D N=5 --engines sim,sim,sim --bisect
expect 0 'c: exact' diff $add -D N=5 --engines sim,sim --bundle "$folder/case"
expect 0 'as in the bundle' diff "$folder/case"
expect 2 'is not a bundle; name a new folder' diff $add --engines sim,sim --bundle programs
expect 2 'O0, O1, O2 or O3' diff $add --engines sim,cuda:fast
expect 2 '`sim` has no levels of optimisation' run $add --engine sim:O0
# The names of these options before they were --engine and --engines.
expect 2 'unknown engine `smi`' run $add --backend smi
expect 0 'c: exact (5 elements' diff $add -D N=5 --backends sim,sim
expect 0 'TV0104' explain 104
# A code of several kinds says of each what orders it.
expect 0 'Threads of a block ("what thread 5 wrote")' explain TV0406
expect 0 'Blocks ("races with another block")' explain TV0406
expect 0 'Copies ("any thread")' explain TV0406
expect 0 '[2, 1]' layout '[local(2, 1)]'
expect 0 '__global__' compile $add
expect 1 'TV0104' check programs/figure9_as_printed.tile

# Assertions that are left out.
failing=tests/filetests/faults/assert_scalar.tile
expect 1 'TV0415' run $failing --in n=1
expect 0 'y_ptr: i32[2, 32]' run $failing --in n=1 --no-assert
"$tilevm" compile $failing --no-assert -o "$folder/plain.cu"
if ! grep -q 'block_x()' "$folder/plain.cu" ||
  grep -q 'tv::assertion_failed(assertions_' "$folder/plain.cu"; then
  failed=$((failed + 1))
  echo "FAIL --no-assert: an assertion is left"
fi

# Floats that are added to memory in any order.
sums=tests/filetests/run/scatter_op.tile
expect 2 'adds floats to memory in line' diff $sums --entry floats --engines sim,sim
expect 0 'y_ptr: exact' diff $sums --entry floats --engines sim,sim --unordered-sums

# What compile takes.
expect 2 '--emit cubin is for one target; --emit fatbin takes several' compile $add --target sm_80,sm_90 --emit cubin -o x
expect 2 '--target names sm_90a twice' compile $add --target sm_90,sm_90a --emit fatbin -o x
expect 2 'or a C header with --header FILE' compile $add --emit cubin
expect 2 '--header goes with' compile $add --header x.h
expect 2 '--json goes with --explain' compile $add --json
expect 2 'name a file for the code with -o FILE' compile $add --explain --json --emit ptx

# The kernel cache.
expect 0 '0 files, 0 of 1,073,741,824 bytes' cache
expect 0 '"entries": []' cache list --json
expect 0 "$folder/cache" cache path
expect 0 '0 files removed' cache clear
expect 2 'unknown action `lst`; did you mean `list`?' cache lst
TILEVM_CACHE=off expect 0 'off, as $TILEVM_CACHE says' cache
TILEVM_CACHE_SIZE=big expect 2 'such as 512M or 2G' cache
TILEVM_CACHE_DIR=/dev/null/cache expect 3 'cannot be made: Not a directory; set TILEVM_CACHE_DIR' cache
expect 0 '  registers   ' compile $add --explain

# What is missing of CUDA: one line, status 3, and the way out.
refuse() {
  text=$1
  shift
  expect 3 "$text" "$@"
  [ "$(wc -l <"$folder/err")" -eq 1 ] && return
  failed=$((failed + 1))
  echo "FAIL tilevm $*: not one line"
}
export TILEVM_LIBCUDA="$fake_driver"
TILEVM_LIBCUDA=/nowhere/libcuda.so refuse '(580 or newer for CUDA 13), or run with `--engine sim`' run $add --engine cuda
TILEVM_LIBCUDA=/nowhere/libcuda.so refuse 'install the driver (580 or newer for CUDA 13)' bench $add
TILEVM_LIBCUDA=/nowhere/libcuda.so refuse 'install the driver (580 or newer for CUDA 13)' tune programs/quantized_matmul/few_rows.tile
TILEVM_LIBCUDA=/nowhere/libcuda.so refuse 'install the driver (580 or newer for CUDA 13)' diff $add
TILEVM_LIBCUDA=libc.so.6 refuse 'older than CUDA 11.4; install a newer driver' run $add --engine cuda
FAKE_CUDA_INIT=100 refuse 'CUDA_VISIBLE_DEVICES' run $add --engine cuda
FAKE_CUDA_INIT=34 refuse 'stub' run $add --engine cuda
FAKE_CUDA_SM=75 refuse 'sm_75' run $add --engine cuda
TILEVM_NVRTC=/nowhere/nvrtc.so TILEVM_NVCC=/nowhere/nvcc refuse 'no CUDA compiler' run $add --engine cuda
TILEVM_NVRTC=/nowhere/nvrtc.so TILEVM_NVCC=/nowhere/nvcc refuse 'no CUDA compiler' compile $add --emit cubin -o "$folder/x"
TILEVM_LIBCUDA=/nowhere/libcuda.so expect 0 '-> install the driver (580' doctor
TILEVM_NVRTC=/nowhere/nvrtc.so expect 0 '-> correct the variable or unset it' doctor
TILEVM_CACHE_DIR=/dev/null/cache expect 0 '-> set TILEVM_CACHE_DIR' doctor
unset TILEVM_LIBCUDA

# What cannot be written is said.
count=$((count + 1))
if [ -w /dev/full ]; then
  "$tilevm" isa >/dev/full 2>"$folder/err"
  if [ $? -ne 2 ] || ! grep -q 'cannot write' "$folder/err"; then
    failed=$((failed + 1))
    echo 'FAIL tilevm isa > /dev/full'
  fi
fi

# A program on standard input; a reader that stops early does no harm.
count=$((count + 1))
if ! "$tilevm" run - -D N=5 <$add | grep -q 'c: f32\[5\]'; then
  failed=$((failed + 1))
  echo 'FAIL tilevm run - < FILE'
fi

# Outputs that nothing wrote are said, and are an error if they must be written.
cat >"$folder/third.tile" <<'END'
const M, BM = 100, 64

def f<M / BM>(i32* x_ptr, i32* y_ptr):
    b = BlockIndices()
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[M]), layout=spatial(BM), offset=[b * BM:])
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[M]), offset=[b * BM:])
END
expect 0 'warning: 36 of 100 elements of output `y_ptr` are never written, first `y_ptr[64]`' run "$folder/third.tile"
expect 0 '`(M + BM - 1) / BM` has a block for what is left over' run "$folder/third.tile"
expect 1 'error: 36 of 100 elements' run "$folder/third.tile" --require-written
expect 2 'needs the checks `unwritten` and `races`' run "$folder/third.tile" --require-written --check bounds
expect 2 'needs the simulator' run "$folder/third.tile" --require-written --engine emu
expect 0 'y_ptr: i32[100]' run "$folder/third.tile" -D BM=50 --require-written

# Where outputs go.
ln -s "$folder/one.npy" "$folder/link.npy"
cat >"$folder/both.tile" <<'END'
def f<1>(i32* x_ptr, i32* y_ptr, i32* z_ptr):
    x = LoadGlobal(ViewGlobal(x_ptr, shape=[4]), layout=local(4))
    StoreGlobal(x, ViewGlobal(y_ptr, shape=[4]))
    StoreGlobal(x, ViewGlobal(z_ptr, shape=[4]))
END
expect 2 'two outputs would be written to' run "$folder/both.tile" --out y_ptr="$folder/one.npy" --out z_ptr="$folder/link.npy"
expect 2 'File name too long' run "$folder/both.tile" --out y_ptr="$folder/$(printf '%0300d' 0).npy"
expect 2 'two outputs would be written to' compile $add --emit cubin -o "$folder/one" --header "$folder/one"
ln -s "$folder/loop_b.npy" "$folder/loop_a.npy" && ln -s "$folder/loop_a.npy" "$folder/loop_b.npy"
expect 2 'symbolic links' run "$folder/both.tile" --out y_ptr="$folder/loop_a.npy"
count=$((count + 1))
echo 'kept' >"$folder/log"
"$tilevm" compile $add -o /dev/stdout >>"$folder/log" 2>"$folder/err"
"$tilevm" compile $add -o /dev/stdout 2>"$folder/err" | cat >"$folder/piped"
if ! head -1 "$folder/log" | grep -q kept || ! grep -q __global__ "$folder/log" || ! grep -q __global__ "$folder/piped"; then
  failed=$((failed + 1))
  echo 'FAIL tilevm compile -o /dev/stdout, appended to a log and into a pipe'
fi

# Whose fault it is.
printf 'const N in [1, 2] = 3\n\ndef f<1>(i32* y_ptr):\n    StoreGlobal(AllocateRegister(i32, layout=local(N), init=1), ViewGlobal(y_ptr, shape=[N]))\n' >"$folder/choice.tile"
expect 1 'which is none of its choices' check "$folder/choice.tile"
expect 2 'which is none of its choices' check "$folder/choice.tile" -D N=4
expect 0 '' check "$folder/choice.tile" -D N=1
printf 'def f<2147483647, 65535, 65535>(i32* y_ptr):\n    i, j, k = BlockIndices()\n    if i < 0:\n        StoreGlobal(AllocateRegister(i32, layout=local(1), init=1), ViewGlobal(y_ptr, shape=[1]))\n' >"$folder/many.tile"
expect 4 'the simulator runs at most' run "$folder/many.tile"

# Prefetching past the end loads zeros, as documented; a tile that is outside whatever its offset is a
# mistake, as are stores past the end.
count=$((count + 1))
cat >"$folder/prefetch.tile" <<'END'
def f<1>(i32* x_ptr, i32* y_ptr):
    x = ViewGlobal(x_ptr, shape=[64])
    y = ViewGlobal(y_ptr, shape=[64])
    t = LoadGlobal(x, layout=spatial(32))
    for k in range(2):
        u = LoadGlobal(x, layout=spatial(32), offset=[(k + 1) * 32:])
        StoreGlobal(t, y, offset=[k * 32:])
        t = Add(u, AllocateRegister(i32, layout=spatial(32), init=0))
END
"$tilevm" check "$folder/prefetch.tile" >"$folder/out" 2>"$folder/err"
# shellcheck disable=SC2181  # two conditions
if [ $? -ne 0 ] || [ -s "$folder/err" ]; then
  failed=$((failed + 1))
  echo 'FAIL tilevm check of a prefetch past the end'
  cat "$folder/err"
fi
sed 's/k \* 32:/k * 64:/' "$folder/prefetch.tile" >"$folder/past.tile"
expect 0 'TV0305' check "$folder/past.tile"

# A trace ends, also of a loop that does not.
printf 'def f<1>(i32* y_ptr):\n    k = 0\n    while k < 1:\n        k = 0\n    StoreGlobal(AllocateRegister(i32, layout=local(1), init=k), ViewGlobal(y_ptr, shape=[1]))\n' >"$folder/endless.tile"
expect 0 'only 5 statements are shown' trace "$folder/endless.tile" --limit 5
expect 4 'TV0402' trace "$folder/endless.tile" --limit 100000 --max-steps 1000
expect 4 'TV0402' diff "$folder/endless.tile" --engines sim,sim --max-steps 1000
expect 0 '"cut": false' trace $add -D N=5 --json --limit 100000000
expect 2 'no launch has a block 99, 99, 0; the grid is' trace $add -D N=5 --block 99,99
expect 2 '"error": "unknown option' run $add --json --jsno
expect 2 '`--json` and an output to `-` both want standard output' run $add -D N=5 --json --out c=-
expect 1 '"error_code": "TV0502", "place": {"file": "nowhere.npy"}' run $add --json --in a=nowhere.npy
expect 1 '`N` is 0 here: -D N=0' run $add -D N=0
expect 2 '-D N=1e3: 1000.0 is not a value of i32' run $add -D N=1e3
expect 0 '"code": "TV0104"' explain 104 --json
expect 0 '"mnemonic": "Cast"' isa Cast --json
expect 0 '"canonical": true' fmt $add --json
expect 0 'a limit was reached' bench --help

# Nested brackets need little of the shell's stack.
{
  echo 'def f<1>(f32* p):'
  printf '    n = '
  printf '(%.0s' $(seq 250)
  printf 1
  printf ')%.0s' $(seq 250)
  echo
} >"$folder/nested.tile"
count=$((count + 1))
# shellcheck disable=SC3045  # dash has it
(ulimit -s 512 && "$tilevm" check "$folder/nested.tile") >"$folder/out" 2>&1 || {
  failed=$((failed + 1))
  echo 'FAIL: brackets on a small stack'
  cat "$folder/out"
}

# A file name is not a command to a terminal.
printf 'def f\n' >"$folder/$(printf 'a\033[31mb').tile"
expect 1 'a?[31mb.tile:1' check "$folder/$(printf 'a\033[31mb').tile"
expect 2 'nowhere?[31m' check "$(printf 'nowhere\033[31m')"

# Without a C++ compiler the engine emu says what to install; with one it gives the simulator's bits.
count=$((count + 1))
# shellcheck disable=SC2123  # there is no command there
(PATH=/nowhere; export PATH; unset CXX TILEVM_CXX; "$tilevm" run $add --engine emu) 2>"$folder/err"
if [ $? -ne 3 ] || ! grep -q 'apt-get install g++' "$folder/err"; then
  failed=$((failed + 1))
  echo 'FAIL tilevm run --engine emu without a compiler'
  cat "$folder/err"
fi
if command -v c++ >/dev/null; then
  count=$((count + 1))
  "$tilevm" run $add -D N=1000 >"$folder/sim"
  "$tilevm" run $add -D N=1000 --engine emu --thread-order random:3 >"$folder/emu"
  cmp "$folder/sim" "$folder/emu" || failed=$((failed + 1))

  # An entry of the kernel cache under another's name is not run.
  count=$((count + 1))
  mkdir -m 700 "$folder/swapped"
  (
    export TILEVM_CACHE_DIR="$folder/swapped"
    "$tilevm" run $add -D N=1000 --engine emu >/dev/null
    first=$(echo "$folder"/swapped/*.kernel)
    "$tilevm" run $add -D N=2000 --engine emu >"$folder/own"
    for entry in "$folder"/swapped/*.kernel; do
      [ "$entry" = "$first" ] || cp "$first" "$entry"
    done
    "$tilevm" run $add -D N=2000 --engine emu >"$folder/emu" && cmp "$folder/own" "$folder/emu"
  ) || { failed=$((failed + 1)); echo 'FAIL an entry under another name'; }

  # A cache that others may write to is not used, and the run says so.
  chmod 777 "$folder/swapped"
  TILEVM_CACHE_DIR="$folder/swapped" expect 0 'can be written to by others; set TILEVM_CACHE_DIR' \
    run $add -D N=2000 --engine emu
fi

echo "$count command lines, $failed failed"
[ "$failed" -eq 0 ]
