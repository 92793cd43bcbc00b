#!/bin/sh
# Installs the plugins of plugin/ with Claude Code, Codex, Gemini CLI and Copilot CLI, each with a home of its own, and
# looks whether `hm init` then writes nothing for them. No account and no network but npm's. Needs npm, git and a built hm:
#   cargo build && tests/plugins.sh [path to hm]
# Exits 1 when a client refuses its plugin, or does not list it.
set -eu

cd "$(dirname "$0")/.."
plugins=$(pwd)/plugin
beside=$(pwd)/tests/clients
target=${CARGO_TARGET_DIR:-target}
hm=${1:-$target/debug/hm}
[ -x "$hm" ] || { echo "no $hm: run cargo build first, or name the binary" >&2; exit 2; }
hm=$(cd "$(dirname "$hm")" && pwd)/$(basename "$hm")
. "$beside/tools.sh"

scratch=$(cd "$(mktemp -d)" && pwd -P)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
home=$scratch/home
mkdir -p "$home/bin" "$home/tmp" "$home/.gemini" "$scratch/work"
ln -s "$hm" "$home/bin/hm"
# Gemini CLI asks whether it trusts the folder of an extension.
echo '{"'"$plugins/gemini"'":"TRUST_FOLDER"}' >"$home/.gemini/trustedFolders.json"

failed=0
# A command of a client; the last argument is what it must print.
says() {
    client=$1 wanted=$2
    shift 2
    if (cd "$home" && env -i PATH="$home/bin:$PATH" HOME="$home" TMPDIR="$home/tmp" TERM=dumb LANG=C.UTF-8 XDG_STATE_HOME="$home/state" \
        HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 GEMINI_API_KEY=none \
        "$@") >"$scratch/said" 2>&1 </dev/null && grep -q "$wanted" "$scratch/said"; then
        echo "ok      $client: $*" | sed "s|$plugins|plugin|;s|$scratch/||g"
    else
        echo "FAILED  $client: $* (wanted: $wanted)"
        sed 's/^/    /' "$scratch/said" | head -30
        failed=1
    fi
}

says claude "Validation passed" claude plugin validate "$plugins/claude"
says claude "Successfully added" claude plugin marketplace add "$plugins"
says claude "Successfully installed" claude plugin install hivemind@hivemind
says claude "Hooks (7)" claude plugin details hivemind
says codex "Added marketplace" codex plugin marketplace add "$plugins"
says codex "hivemind@hivemind" codex plugin add hivemind@hivemind --json
says codex "hm  *serve" codex mcp list
says gemini "successfully validated" gemini extensions validate "$plugins/gemini"
says gemini "installed successfully" gemini extensions install --consent --skip-settings "$plugins/gemini"
says gemini "hivemind (from hivemind): hm serve" gemini mcp list
says copilot "added successfully" copilot plugin marketplace add "$plugins"
says copilot "installed successfully" copilot plugin install hivemind@hivemind
says copilot "hivemind@hivemind" copilot plugin list
for title in "Claude Code" Codex "Gemini CLI" "Copilot CLI"; do
    says "hm init" "$title: its plugin .hivemind. has server and hooks" hm init --dir "$scratch/work" --dry-run
done
exit $failed
