#!/bin/sh
# A campaign in several parts: spread_test.sh killed|parallel|slurm TILEVM, run from the root of the
# repository. Status 77: what the part needs is not installed.
set -eu
part=$1
root=$PWD
folder=$(mktemp -d)
job=
trap '[ -z "$job" ] || kill -9 "$job" 2>/dev/null || true; rm -rf "$folder"' EXIT
ln -s "$2" "$folder/tilevm"
PATH=$folder:$PATH
cd "$folder"

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# The corpora together must have so many seeds, each counted once, and no failing case.
expect_seeds() {
  wanted=$1
  shift
  tilevm fuzz merge "$@" --corpus all >merged
  cat merged
  grep -q ": $wanted seeds; " merged || fail "expected $wanted seeds"
  grep -q ' 0 cases' merged || fail "expected no case"
}

# The lines of the code block of docs/guides/fuzzing.md that has a word, with few seeds.
example() {
  awk -v word="$1" '/^```/ { inside = !inside; if (!inside && found) exit; text = ""; found = 0; next }
    inside { text = text $0 "\n"; if (index($0, word)) found = 1 }
    END { printf "%s", text }' "$root/docs/guides/fuzzing.md" | sed 's/0\.\.199999/0..63/'
}

case $part in
  killed)
    tilevm fuzz --seeds 0..1999 --corpus part >/dev/null 2>&1 &
    job=$!
    tries=0
    while [ ! -s part/progress.txt ]; do
      tries=$((tries + 1))
      [ "$tries" -lt 600 ] || fail "no progress in a minute"
      sleep 0.1
    done
    kill -9 "$job"
    wait "$job" 2>/dev/null || true
    job=
    before=$(awk '{ print $3 }' part/progress.txt | tail -n 1)
    [ "$before" -lt 1999 ] || fail "the campaign was over before it was killed"
    tilevm fuzz --seeds 0..511 --corpus part --resume --json >report
    grep -q "\"programs\": $((511 > before ? 511 - before : 0))" report ||
      fail "the resumed campaign began again, after seed $before: $(cat report)"
    last=$((before > 511 ? before : 511))
    expect_seeds $((last + 1)) part
    ;;
  parallel)
    parallel --version 2>/dev/null | grep -q '^GNU parallel' || exit 77
    example '| parallel' >lines
    grep -q 'parallel' lines || fail "docs/guides/fuzzing.md has no example"
    cat lines
    sh -eu lines
    tilevm fuzz merge fuzz --corpus fuzz | grep -q ': 64 seeds; ' || fail "expected 64 seeds"
    ;;
  slurm)
    # Without Slurm: the script as it runs its jobs.
    for SLURM_ARRAY_TASK_ID in 0 1 2; do
      SLURM_ARRAY_TASK_COUNT=3
      export SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT
      sh "$root/tests/fuzz/campaign.sbatch" 0..63 --engines sim,naive
    done
    expect_seeds 64 fuzz.0 fuzz.1 fuzz.2
    ;;
  *) fail "there is no part $part" ;;
esac
