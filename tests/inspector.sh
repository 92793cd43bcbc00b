#!/bin/sh
# Asks the official MCP inspector what it thinks of hm, in both protocol eras. Needs npm and a built hm:
#   cargo build && tests/inspector.sh [path to hm]
# Exits 1 when the inspector refuses an answer, or its --strict finds anything in a tool schema.
set -eu

INSPECTOR=2.12.0
NODE=24.21.0 # the inspector wants 22.19 or later; many machines carry an older one

cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
hm=${1:-$target/debug/hm}
[ -x "$hm" ] || { echo "no $hm: run cargo build first, or name the binary" >&2; exit 2; }
command -v npm >/dev/null || { echo "npm is needed" >&2; exit 2; }

mkdir -p "$target"
tools=$(cd "$target" && pwd)/inspector-$INSPECTOR-$NODE
if [ ! -e "$tools/complete" ]; then
    echo "installing the inspector into $tools (about 300 MB, once)"
    mkdir -p "$tools"
    npm install --prefix "$tools" --no-audit --no-fund --loglevel=error \
        "node@$NODE" "@modelcontextprotocol/inspector@$INSPECTOR"
    touch "$tools/complete"
fi

# A workspace and a home of its own: nothing of the user's is read or written.
scratch=$(mktemp -d)
leave() {
    writer=$(cat "$scratch/.hivemind/runtime/writer.lock" 2>/dev/null || true)
    [ -z "$writer" ] || kill "$writer" 2>/dev/null || true
    rm -rf "$scratch"
}
trap leave EXIT
trap 'exit 130' INT TERM
unset HM_DIR HM_AGENT HM_LOG 2>/dev/null || true
HOME=$scratch "$hm" init --dir "$scratch" --yes >/dev/null # the home of the one who asks below

refused=0
ask() {
    name=$1
    shift
    code=0
    HOME=$scratch PATH=$tools/node_modules/node/bin:$PATH "$tools/node_modules/.bin/mcp-inspector" --cli \
        "$hm" serve --dir "$scratch" --agent devops --protocol-era "$era" "$@" \
        >"$scratch/out" 2>"$scratch/err" || code=$?
    # --strict reports what is merely unwise on stderr and exits 0 all the same.
    if [ "$code" -eq 0 ] && [ ! -s "$scratch/err" ]; then
        echo "ok      $era  $name"
    else
        echo "REFUSED $era  $name (exit $code)"
        cat "$scratch/err" "$scratch/out"
        refused=1
    fi
}

for era in legacy modern; do
    ask "tools/list --strict" --method tools/list --strict
    ask "resources/list" --method resources/list
    ask "resources/templates/list" --method resources/templates/list
    ask "prompts/list" --method prompts/list
    ask "prompts/get session-start" --method prompts/get --prompt-name session-start
    ask "tools/call create_claim" --method tools/call --tool-name create_claim --tool-args-json \
        "{\"statement\":\"the inspector speaks the $era era\",\"claim_type\":\"fact\",\"scopes\":[\"tests\"]}"
    ask "resources/read hivemind://claims" --method resources/read --uri hivemind://claims
    grep -q "speaks the $era era" "$scratch/out" || { echo "REFUSED $era  the claim is not listed"; refused=1; }
done
exit $refused
