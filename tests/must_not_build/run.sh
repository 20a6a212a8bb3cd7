#!/bin/sh
# Proves that what is forgotten does not build: compiles sources of this repository against a copy of
# a header to which a case adds an enumerator or an instruction without its meaning.
#
#   run.sh CXX SOURCE_DIR CASE [LIBRARY..]     the case must fail, and say what is missing
#   run.sh CXX SOURCE_DIR --control FOLDER [LIBRARY..]
#                                              all that the cases build, unchanged, must build
#
# CASE and FOLDER are paths in tests.
#
# A case is a text of lines:
#   # what is forgotten
#   edit FILE SED_COMMAND   changes a copy of a file; the sources below see the copy
#   compile SOURCE          which must then fail
#   link SOURCE             which must compile, and then not link with the libraries
#   says PATTERN            which the last compiler's or linker's messages must match (grep -E)
set -eu
compiler=$1
root=$2
case=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-std=c++20 -O0 -Werror=switch"

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

# The copy of a file, if a case made one.
seen() { if [ -f "$work/copy/$1" ]; then echo "$work/copy/$1"; else echo "$root/$1"; fi; }

compiles() {
  # shellcheck disable=SC2086
  LC_ALL=C "$compiler" $flags -fsyntax-only -I "$work/copy" -I "$root" "$(seen "$1")" >"$work/said" 2>&1
}

# Links a program that does nothing but hold what the source walks.
links() {
  source=$1
  shift
  # shellcheck disable=SC2086
  LC_ALL=C "$compiler" $flags -c -I "$work/copy" -I "$root" "$(seen "$source")" -o "$work/unit.o" \
    >"$work/said" 2>&1 || fail "$source does not even compile:" "$(cat "$work/said")"
  echo 'int main() {}' >"$work/main.cc"
  LC_ALL=C "$compiler" "$work/main.cc" "$work/unit.o" -Wl,--start-group "$@" -Wl,--end-group \
    -pthread -ldl -o "$work/unit" >"$work/said" 2>&1
}

mkdir "$work/copy"
if [ "$case" = --control ]; then
  cases=$root/tests/$1
  shift
  sed -n 's/^compile //p' "$cases"/*.case | sort -u >"$work/sources"
  [ -s "$work/sources" ] || fail "no case builds anything"
  while read -r source; do
    compiles "$source" || fail "$source does not compile as it is:" "$(cat "$work/said")"
  done <"$work/sources"
  sed -n 's/^link //p' "$cases"/*.case | sort -u >"$work/sources"
  while read -r source; do
    links "$source" "$@" || fail "$source does not link as it is:" "$(cat "$work/said")"
  done <"$work/sources"
  exit 0
fi

said=0
while IFS= read -r line; do
  verb=${line%% *}
  rest=${line#* }
  case $verb in
    '#'* | '') ;;
    edit)
      file=${rest%% *}
      mkdir -p "$work/copy/$(dirname "$file")"
      sed -E "${rest#* }" "$(seen "$file")" >"$work/edited"
      cmp -s "$work/edited" "$(seen "$file")" && fail "$case: this edit changes nothing: $line"
      mv "$work/edited" "$work/copy/$file"
      ;;
    compile) ! compiles "$rest" || fail "$case: $rest compiles, although its meaning is missing" ;;
    link) ! links "$rest" "$@" || fail "$case: $rest links, although its meaning is missing" ;;
    says)
      grep -Eq -- "$rest" "$work/said" ||
        fail "$case: no message matches '$rest'; there are:" "$(head -c 4000 "$work/said")"
      said=$((said + 1))
      ;;
    *) fail "$case: what is '$line'?" ;;
  esac
done <"$root/tests/$case"
[ "$said" -gt 0 ] || fail "$case expects no message"
