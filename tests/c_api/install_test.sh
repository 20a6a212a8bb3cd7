#!/bin/sh
# install_test.sh CMAKE BUILD SOURCE: what is installed serves a project of strangers, by CMake and by
# pkg-config, and nothing else needs to have been built: as after building `tilevm_c` alone, the
# command is not there when the library is installed.
set -eu
cmake=$1
build=$2
stranger=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder/usr" --component library >/dev/null
test ! -e "$folder/usr/bin"
# shellcheck disable=SC2015  # the log is shown if either fails
"$cmake" -S "$stranger" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/usr" >"$folder/log" 2>&1 &&
  "$cmake" --build "$folder/build" >>"$folder/log" 2>&1 || {
  cat "$folder/log"
  exit 1
}
[ "$("$folder/build/stranger")" = "2 3 4" ]
if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(find "$folder/usr" -name pkgconfig)
  export PKG_CONFIG_PATH
  # shellcheck disable=SC2046  # flags are split on purpose
  cc "$stranger/main.c" -o "$folder/other" $(pkg-config --cflags --libs tilevm)
  library=$(pkg-config --variable=libdir tilevm)
  [ "$(LD_LIBRARY_PATH=$library "$folder/other")" = "2 3 4" ]
fi
# The rules name what may be missing, so that an install of everything takes what there is.
grep -q 'OPTIONAL.*bin/tilevm"\|bin" TYPE EXECUTABLE OPTIONAL' "$build/cmake_install.cmake"
