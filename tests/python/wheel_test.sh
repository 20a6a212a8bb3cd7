#!/bin/sh
# wheel_test.sh BUILT FAKE_DRIVER PYTHON: the wheel, with the command and the library of a build folder, in a virtual
# environment that has nothing else but the system's NumPy. 77: what builds it is not here (./dev test installs it).
set -eu
built=$1
driver=$2
python=$3
cd "$(dirname "$0")/../.."
[ -x .cache/wheel/tools/bin/auditwheel ] || {
  echo "SKIP: there is no scikit-build-core in .cache/wheel/tools"
  exit 77
}
"$python" -c 'import numpy, venv, ensurepip' 2>/dev/null || {
  echo "SKIP: $python has no NumPy or no venv"
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wheel=$(python/build_wheel.sh "$folder/dist" "$built" 2>"$folder/log") || {
  cat "$folder/log"
  exit 1
}
case $wheel in
  */tilevm-*-py3-none-manylinux_2_*.whl) ;;
  *)
    echo "the wheel is called $wheel"
    exit 1
    ;;
esac
size=$(stat -c %s "$wheel")
echo "$wheel has $size bytes"
[ "$size" -le 15728640 ]
"$python" -m venv --system-site-packages "$folder/venv"
venv=$folder/venv/bin
"$venv/pip" --disable-pip-version-check install -q --no-index --no-deps "$wheel"
unset TILEVM_LIBRARY TILEVM_COMMAND PYTHONPATH
cd "$folder"
[ "$("$venv/tilevm" --version)" = "$("$venv/python" -m tilevm --version)" ]
"$venv/python" -m tilevm demo >"$folder/demo"
grep -q 'try next' "$folder/demo"
"$venv/python" -c 'import pathlib, tilevm; assert (pathlib.Path(tilevm.__file__).parent / "py.typed").exists()'
for test in python device tuned examples; do
  "$venv/python" -B "$OLDPWD/tests/python/${test}_test.py" installed "$driver"
done
