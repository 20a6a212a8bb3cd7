#!/bin/sh
# manual_test.sh TILEVM: completion and man pages, as shells and man take them. What a tool is missing for is not looked
# at; bash and groff come with every Debian.
# shellcheck disable=SC2016  # backquotes are part of the messages
set -eu
tilevm=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

fail() {
  echo "FAIL: $*"
  failed=1
}

# Every command that --help lists has a page, whose options are those of its --help, and no line that roff warns of.
"$tilevm" man -o "$folder/man"
commands=$("$tilevm" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$commands" | wc -l)" -ge 20 ] || fail "the commands are: $commands"
for command in $commands; do
  page=$folder/man/tilevm-$command.1
  [ -f "$page" ] || {
    fail "there is no page for $command"
    continue
  }
  "$tilevm" "$command" --help | grep -o '^  *-[^ ]*' | tr ',' '\n' | sed 's/{false}//; s/ //g' | grep '^-' | while read -r option; do
    sed 's/\\//g' "$page" | grep -qF -e "fB${option}fR" || echo "$command $option"
  done >"$folder/missing"
  [ ! -s "$folder/missing" ] || fail "without a line in their page: $(cat "$folder/missing")"
done
sed 's/\\//g' "$folder/man/tilevm.1" | grep -q '^.B demo$' || fail "tilevm.1 has no demo"
if command -v groff >/dev/null; then
  for page in "$folder"/man/*.1; do
    groff -man -Tutf8 -ww "$page" >"$folder/text" 2>"$folder/warnings"
    [ ! -s "$folder/warnings" ] || fail "$page: $(head -n 3 "$folder/warnings")"
  done
fi
if command -v man >/dev/null; then
  man -l "$folder/man/tilevm-run.1" 2>/dev/null | grep -q 'NAME=SPEC' || fail "man shows no NAME=SPEC"
fi
"$tilevm" man rnu >"$folder/text" 2>&1 && fail "man rnu is not a failure"
grep -q 'did you mean `run`' "$folder/text" || fail "man rnu: $(cat "$folder/text")"

# What bash proposes: complete_bash WORD.. CURRENT.
"$tilevm" completion bash >"$folder/tilevm.bash"
cat >"$folder/ask.bash" <<'END'
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_tilevm
printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort | tr '\n' ' '
END
proposed() {
  wanted=$1
  shift
  got=$(bash --norc "$folder/ask.bash" "$folder/tilevm.bash" "$@") || fail "bash failed on: $*"
  [ "$got" = "$wanted" ] || fail "bash proposes for \`$*\`: $got; expected: $wanted"
}
bash -n "$folder/tilevm.bash"
got=$(bash --norc "$folder/ask.bash" "$folder/tilevm.bash" tilevm d)
[ "$got" = 'dap debug demo diff doctor ' ] || fail "bash proposes for \`tilevm d\`: $got"
proposed '--report --require-written --resident ' tilevm run --re
proposed 'cuda emu sim ' tilevm run x.tile --engine ''
proposed 'sm_80 sm_86 sm_88 sm_89 ' tilevm check --target sm_8
proposed 'always auto ' tilevm --color a
proposed 'doctor ' tilevm --color never "do"
proposed 'DotSparse ' tilevm isa DotSp
proposed '--json ' tilevm isa --j
proposed 'clear ' tilevm cache c
proposed 'fish ' tilevm completion f
proposed ' ' tilevm run --in a

# The other shells, where they are: that the scripts are read, and what fish proposes.
"$tilevm" completion zsh >"$folder/_tilevm"
"$tilevm" completion fish >"$folder/tilevm.fish"
if command -v zsh >/dev/null; then
  zsh -n "$folder/_tilevm" || fail "zsh does not read its script"
fi
if command -v fish >/dev/null; then
  fish --no-execute "$folder/tilevm.fish" || fail "fish does not read its script"
  got=$(fish --no-config -c "source $folder/tilevm.fish; complete -C 'tilevm run --engine '" | cut -f 1 | tr '\n' ' ')
  [ "$got" = 'cuda emu sim ' ] || [ "$got" = 'sim emu cuda ' ] || fail "fish proposes: $got"
fi
"$tilevm" completion tcsh >"$folder/text" 2>&1 && fail "completion of tcsh is not a failure"
exit $failed
