#!/bin/sh
# python_test.sh DOCUMENT LIBRARY: runs the Python of the document.
set -eu
command -v python3 >/dev/null || {
  echo "SKIP: there is no python3"
  exit 77
}
if readelf -d "$2" 2>/dev/null | grep -q libasan; then
  echo "SKIP: Python is not built with AddressSanitizer"
  exit 77
fi
# shellcheck disable=SC2016  # the marks of a block of code
sed -n '/^```python$/,/^```$/p' "$1" | sed '/^```/d' | TILEVM_LIBRARY=$2 python3 - | tee /dev/stderr |
  grep -qx '\[3.0, 5.0, 7.0\]'
