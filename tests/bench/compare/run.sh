#!/bin/sh
# Compares tilevm with Triton's interpreter, numba's CUDA simulator and Oclgrind on this machine.
#
#   tests/bench/compare/run.sh [speed|faults|tables]..      without an argument: all three
#
# Needs build/tilevm (or $TILEVM), Python 3 with venv, and oclgrind (a Debian package; OpenCL headers
# are not needed). Triton, numba and numpy are installed into build/compare. No test calls this.
# Results: tests/bench/results/compare.json; docs/results/simulators_2026_11_23.md shows them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../..
python=$root/build/compare/bin/python
results=$root/tests/bench/results/compare.json

if ! command -v oclgrind >/dev/null; then
  echo "run.sh: oclgrind is missing: apt-get install oclgrind" >&2
  exit 3
fi
if ! [ -x "$python" ]; then
  python3 -m venv "$root/build/compare"
  # numpy 2.4 no longer makes a scalar of a one-element array, which Triton's interpreter relies on.
  "$python" -m pip install --quiet triton==3.6.0 numba==0.68.1 numpy==2.2.6
fi
mkdir -p "$(dirname "$results")"
[ $# -gt 0 ] || set -- speed faults tables
for what in "$@"; do
  "$python" "$here/compare.py" "$what" "$results"
done
