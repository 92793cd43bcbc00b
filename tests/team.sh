#!/bin/sh
# Runs a team of real clients against hm: two Claude Code in two linked work trees, one Codex and one Gemini CLI in the main
# one, configured by `hm init --yes`, with no HM_AGENT. Their model is a script on loopback (tests/clients/model.mjs): no
# account, no network but npm's. Needs npm, git and a built hm:
#   cargo build && tests/team.sh [path to hm]
# tests/clients/team.mjs tells the story and says what of it is as it should be. Exits 1 when anything is not.
set -eu

cd "$(dirname "$0")/.."
beside=$(pwd)/tests/clients
target=${CARGO_TARGET_DIR:-target}
hm=${1:-$target/debug/hm}
[ -x "$hm" ] || { echo "no $hm: run cargo build first, or name the binary" >&2; exit 2; }
hm=$(cd "$(dirname "$hm")" && pwd)/$(basename "$hm")
. "$beside/tools.sh"

scratch=$(cd "$(mktemp -d)" && pwd -P) # clients trust a directory by its real name
home=$scratch/home
story=
leave() {
    [ -z "$story" ] || kill "$story" 2>/dev/null || true
    for memory in .git/hivemind .hivemind/runtime; do
        writer=$(cat "$scratch/work/$memory/writer.lock" 2>/dev/null || true)
        [ -z "$writer" ] || kill "$writer" 2>/dev/null || true
    done
    rm -rf "$scratch"
}
trap leave EXIT
trap 'exit 130' INT TERM

mkdir -p "$home/bin" "$home/tmp"
ln -s "$hm" "$home/bin/hm"
# Nothing of the user's, and no way out but loopback. On a busy machine hooks wait rather than have nothing to say.
env -i PATH="$home/bin:$PATH" HOME="$home" TMPDIR="$home/tmp" TERM=xterm-256color LANG=C.UTF-8 XDG_STATE_HOME="$home/state" \
    HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 NO_PROXY=127.0.0.1 HM_PATIENCE_MS=3000 \
    node "$beside/team.mjs" "$scratch" "$tools" &
story=$!
code=0
wait "$story" || code=$?
story=
exit $code
