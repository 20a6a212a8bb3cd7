#!/bin/sh
# debian13.sh [TARGET..] [-- CTEST_ARGUMENTS..]: builds this tree on Debian 13 (GCC 14) with its tests, and runs them, in a
# root file system that mmdebstrap makes below .cache/debian13 (1.3 GB). The build is build-debian13. TARGETs are those of
# the build, by default all; CTEST_ARGUMENTS choose tests, as `-R unit_`; $CONFIGURE has more options of cmake, $JOBS the
# number of compilers. On Debian, as root; mmdebstrap is installed first.
set -eu
cd "$(dirname "$0")/.."
tree=$PWD
folder=$tree/.cache/debian13
packages="build-essential,cmake,ninja-build,file,libboost-dev,libboost-context-dev,libfmt-dev,libcli11-dev,libedit-dev,doctest-dev"
packages="$packages,librapidcheck-dev,libmpfr-dev,python3,python3-numpy,python3-venv,parallel,procps,git"
targets=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  targets="$targets $1"
  shift
done
[ $# = 0 ] || shift
[ "$(id -u)" = 0 ] || {
  echo "debian13.sh needs root, for chroot" >&2
  exit 3
}
command -v mmdebstrap >/dev/null || apt-get install -y -q mmdebstrap
if [ "$(cat "$folder/complete" 2>/dev/null)" != "$packages" ]; then
  rm -rf "$folder/root"
  mkdir -p "$folder"
  # Where this machine's own packages of Debian come from.
  # shellcheck disable=SC2016  # apt's own variables
  mirror=$(apt-get indextargets --format '$(SITE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    sed -n 's/ main$//p' | grep -v security | head -n 1)
  # shellcheck disable=SC2086  # none is none
  mmdebstrap --variant=apt --include="$packages" trixie "$folder/root" $mirror
  echo "$packages" >"$folder/complete"
fi
# What is mounted ends with the namespace.
# shellcheck disable=SC2016  # the inner shells' variables
exec unshare -m sh -eu -c '
  root=$1 tree=$2 targets=$3
  shift 3
  mount --make-rprivate /
  mkdir -p "$root$tree"
  mount --bind "$tree" "$root$tree"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  # Virtual environments of this machine have its Python, which is not there.
  for environment in editors wheel; do
    [ ! -d "$root$tree/.cache/$environment" ] || mount -t tmpfs none "$root$tree/.cache/$environment"
  done
  exec chroot "$root" env -i HOME=/root PATH=/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 JOBS="${JOBS:-}" CONFIGURE="${CONFIGURE:-}" sh -eu -c "
    tree=\$1 targets=\$2
    shift 2
    cd \"\$tree\"
    g++ --version | head -n 1
    cmake -S . -B build-debian13 -G Ninja -DCMAKE_BUILD_TYPE=Release -DTILEVM_SHARED=ON -DTILEVM_TESTS=ON \$CONFIGURE
    cmake --build build-debian13 --parallel \${JOBS:-\$(nproc)} \${targets:+--target \$targets} -- -k 0
    ctest --test-dir build-debian13 --output-on-failure \"\$@\"
  " sh "$tree" "$targets" "$@"
' sh "$folder/root" "$tree" "$targets" "$@"
