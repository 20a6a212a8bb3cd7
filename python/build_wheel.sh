#!/bin/sh
# build_wheel.sh OUT [BUILT]: the wheel of this repository into the folder OUT, for every Linux with a C library that is
# not older. BUILT is a build folder whose command and library are taken; else both are built. The tools are those of
# requirements.txt in .cache/wheel/tools. Prints the file's name.
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
built=${2:-}
cd "$(dirname "$0")/.."
tools=$PWD/.cache/wheel/tools/bin
set --
if [ -n "$built" ]; then
  # A folder of its own, since the other one may be in use.
  set -- "--config-settings=cmake.define.TILEVM_BUILT=$(cd "$built" && pwd)" "--config-settings=build-dir=$out/stage"
elif [ -d .cache/boost1.81 ]; then
  set -- "--config-settings=cmake.define.Boost_ROOT=$PWD/.cache/boost1.81/usr"
fi
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
PATH=$tools:$PATH "$tools/pip" --disable-pip-version-check wheel -q --no-deps --no-build-isolation \
  -w "$raw" "$@" . >&2
# The tag follows from the versions of symbols that the command and the library take from the C library.
PATH=$tools:$PATH "$tools/auditwheel" repair --plat auto -w "$raw/tagged" "$raw"/*.whl >&2
for wheel in "$raw"/tagged/*.whl; do
  mv "$wheel" "$out/"
  echo "$out/${wheel##*/}"
done
