#!/bin/sh
# exports_test.sh LIBRARY HEADER: the library shows exactly the functions of the header, and has a
# versioned name.
set -eu
for tool in nm readelf; do
  command -v $tool >/dev/null || {
    echo "SKIP: there is no $tool"
    exit 77
  }
done
shown=$(nm --dynamic --defined-only "$1" | awk '{ print $3 }' | sort)
declared=$(grep -o 'tilevm_[a-z_]*(' "$2" | tr -d '(' | sort -u)
if [ "$shown" != "$declared" ]; then
  printf 'the library shows:\n%s\nthe header declares:\n%s\n' "$shown" "$declared"
  exit 1
fi
readelf -d "$1" | grep -q 'SONAME.*libtilevm\.so\.[0-9]'
