#!/bin/sh
# Times kernels of others beside tilevm's on this machine's GPU: tables on standard output, lines of JSON in FILE.
# docs/guides/bench.md, Beside other kernels, tells what FOLDER must have; docs/results/rivals_2026_11_27.md shows the results.
#
#   tests/bench/rivals/run.sh FOLDER [SECONDS] [FILE] [STEP..]      paths from the root of the repository
#
# Each step is a process of its own, so that one that fails or is late (SECONDS for all, 240) does not end the others.
set -u
cd "$(dirname "$0")/../../.." || exit
folder=$1
seconds=${2:-240}
file=${3:-${OUT:-$folder}/rivals.jsonl}
if [ $# -lt 3 ]; then shift $#; else shift 3; fi
steps=${*:-dense sparse decode prefill rows flute humming}
python=${PYTHON:-python3}
end=$(($(date +%s) + seconds))

if [ -z "${TILEVM_LIBRARY:-}" ]; then
  TILEVM_LIBRARY=$PWD/build/libtilevm.so
  [ ! -e "$folder/libtilevm.so" ] || TILEVM_LIBRARY=$(realpath "$folder/libtilevm.so")
fi
export TILEVM_LIBRARY
PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
if [ -z "${TILEVM_CACHE_DIR:-}" ]; then
  TILEVM_CACHE_DIR=${TMPDIR:-/tmp}/tilevm-rivals-$(id -u)
  mkdir -p "$TILEVM_CACHE_DIR"
  chmod 700 "$TILEVM_CACHE_DIR"
fi
export TILEVM_CACHE_DIR
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HUMMING_CACHE_DIR="$scratch/humming" HUMMING_TMP_DIR="$scratch/humming/tmp" FLASHINFER_WORKSPACE_BASE="$scratch"
mkdir -p "$HUMMING_TMP_DIR"
PATH=$PATH:/usr/local/cuda/bin
case " $steps " in
  *" decode "* | *" humming "*)
    if [ -e "$folder/site.tar.xz" ]; then
      RIVALS_SITE=$scratch/site
      "$python" -m tarfile -e "$folder/site.tar.xz" "$RIVALS_SITE"
      export RIVALS_SITE
    fi
    ;;
esac
# Sources that were brought are built here, beside the first steps.
if [ -e "$folder/sources.tar.xz" ] && [ ! -e "$folder/libflute2.so" ]; then
  "$python" -m tarfile -e "$folder/sources.tar.xz" "$scratch/sources"
  (nice -n 10 tests/bench/rivals/build.sh "$scratch/sources" "$folder" flute >"$scratch/log" 2>&1 || tail -n 5 "$scratch/log") &
  builder=$!
fi
rm -f "$file"

# step NAME SECONDS SCRIPT ARGUMENT..
step() {
  name=$1
  most=$2
  shift 2
  case " $steps " in *" $name "*) ;; *) return 0 ;; esac
  left=$((end - $(date +%s)))
  [ "$left" -lt "$most" ] || left=$most
  if [ "$left" -lt 5 ]; then
    echo "== $name: no time is left"
    return 0
  fi
  [ -e "tests/bench/rivals/$1" ] || return 0
  begin=$(date +%s)
  script=$1
  shift
  timeout "$left" "$python" "tests/bench/rivals/$script" "$folder" "$file" "$@" 2>&1
  echo "-- $name: status $?, $(($(date +%s) - begin)) s of $left"
}
step dense 200 marlin.py dense
step sparse 60 marlin.py sparse
step decode 60 attention.py decode
step prefill 40 attention.py prefill
step rows 60 rows.py
step humming 120 low_bits.py humming
[ -z "${builder:-}" ] || wait "$builder"
step flute 160 low_bits.py flute
