#!/bin/sh
# Holds hm serve --http against the official MCP conformance suite, in both protocol eras. Needs npm and a built hm:
#   cargo build && tests/conformance.sh [path to hm]
# Exits 1 when a check fails, when one warns, or when the suite has a scenario that is named neither under
# `run` nor under `not_run` below.
set -eu

CONFORMANCE=0.2.0-alpha.12 # the first line that knows 2026-07-28
NODE=24.21.0               # the suite wants 22 or later; many machines carry an older one

# What asks nothing but what any server has. The older era first, then the newer.
run='
2025-11-25 server-initialize
2025-11-25 server-session-lifecycle
2025-11-25 ping
2025-11-25 tools-list
2025-11-25 resources-list
2025-11-25 prompts-list
2025-11-25 server-sse-multiple-streams
2025-11-25 dns-rebinding-protection
2026-07-28 server-stateless
2026-07-28 tools-list
2026-07-28 resources-list
2026-07-28 prompts-list
2026-07-28 server-sse-multiple-streams
2026-07-28 dns-rebinding-protection
2026-07-28 sep-2164-resource-not-found
2026-07-28 caching
2026-07-28 http-header-validation
2026-07-28 input-required-result-unsupported-methods
'

# What is left out, and why; a pattern as `case` reads it, then the reason.
not_run='
completion-complete              completes an argument of its own prompt test_prompt_with_arguments; an unknown prompt is refused: tests/it/completions.rs
tools-call-*                     calls tools of its own, such as test_simple_text
json-schema-2020-12              lists a tool of its own, json_schema_2020_12_tool
resources-read-*                 reads resources of its own, such as test://static-text
resources-templates-read         reads a resource of its own, test://template/123/data
resources-subscribe              subscribes to a resource of its own, test://watched-resource: tests/it/mcp.rs
resources-unsubscribe            as resources-subscribe
prompts-get-*                    gets prompts of its own, such as test_simple_prompt
http-custom-header-*             calls a tool of its own with x-mcp-header in its schema; no tool of ours has one
server-sse-polling               calls test_reconnection, a tool that ends its own stream
logging-set-level                logging is not offered: the log is on stderr
elicitation-*                    elicitation is not used: no tool asks anything back
input-required-result-*          as elicitation, with tools of its own
tasks-*                          an extension that is not offered: no call takes long
sep-2640-*                       an extension that is not offered: skills
'

cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
hm=${1:-$target/debug/hm}
[ -x "$hm" ] || { echo "no $hm: run cargo build first, or name the binary" >&2; exit 2; }
command -v npm >/dev/null || { echo "npm is needed" >&2; exit 2; }

mkdir -p "$target"
tools=$(cd "$target" && pwd)/conformance-$CONFORMANCE-$NODE
if [ ! -e "$tools/complete" ]; then
    echo "installing the conformance suite into $tools (about 250 MB, once)"
    mkdir -p "$tools"
    npm install --prefix "$tools" --no-audit --no-fund --loglevel=error \
        "node@$NODE" "@modelcontextprotocol/conformance@$CONFORMANCE"
    touch "$tools/complete"
fi

# A workspace and a home of its own: nothing of the user's is read or written.
scratch=$(mktemp -d)
server=
leave() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    writer=$(cat "$scratch/.hivemind/runtime/writer.lock" 2>/dev/null || true)
    [ -z "$writer" ] || kill "$writer" 2>/dev/null || true
    rm -rf "$scratch"
}
trap leave EXIT
trap 'exit 130' INT TERM
unset HM_DIR HM_AGENT HM_LOG 2>/dev/null || true
export HOME="$scratch" PATH="$tools/node_modules/node/bin:$PATH"
conformance="$tools/node_modules/.bin/conformance"

failed=0
# Every scenario of the suite has its place above.
for scenario in $("$conformance" list --server | sed -n 's/^  - \([^ ]*\).*/\1/p'); do
    if echo "$run" | grep -q " $scenario\$"; then continue; fi
    reason=$(echo "$not_run" | while read -r pattern reason; do
        # shellcheck disable=SC2254 # it is meant as a pattern
        case $scenario in $pattern) [ -z "$pattern" ] || { echo "$reason"; break; } ;; esac
    done)
    [ -n "$reason" ] || { echo "UNKNOWN $scenario: say in $0 whether it is run"; failed=1; }
done

"$hm" init --dir "$scratch" --yes >/dev/null
"$hm" serve --dir "$scratch" --agent devops --http 127.0.0.1:0 >"$scratch/said" 2>"$scratch/log" &
server=$!
tries=0
until url=$(sed -n 's/^serving MCP at //p' "$scratch/said") && [ -n "$url" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { echo "hm serve does not start"; cat "$scratch/log"; exit 1; }
    sleep 0.1
done

# Prints what is wrong with the results of one scenario; exits 1 if anything is. Checks that cannot be made
# without a tool of the suite's own are said to be so by the suite, and are named, not counted.
cat >"$scratch/judge.js" <<'JUDGE'
const checks = JSON.parse(require("fs").readFileSync(process.argv[2], "utf8"));
const of = (status) => checks.filter((check) => check.status === status);
const needsTool = (check) => /^Not testable: server does not list the diagnostic tool/.test(check.errorMessage ?? "");
const wrong = [...of("FAILURE"), ...of("WARNING")].filter((check) => !needsTool(check));
const untestable = of("FAILURE").filter(needsTool).map((check) => check.id);
for (const check of wrong) console.log(`  ${check.status} ${check.id}: ${check.errorMessage ?? check.description}`);
if (untestable.length) console.log(`  needs a tool of the suite: ${untestable.join(", ")}`);
console.log(`  ${of("SUCCESS").length} checks passed`);
process.exit(wrong.length || !of("SUCCESS").length ? 1 : 0);
JUDGE

echo "$run" | while read -r era scenario; do [ -z "$era" ] || echo "$era $scenario"; done >"$scratch/run"
while read -r era scenario; do
    rm -rf "$scratch/results"
    # Its exit code also counts what needs a tool of its own; the results say more.
    "$conformance" server --url "$url" --scenario "$scenario" --spec-version "$era" \
        -o "$scratch/results" >"$scratch/out" 2>&1 </dev/null || true
    verdict=ok
    node "$scratch/judge.js" "$scratch"/results/*/checks.json >"$scratch/judged" 2>&1 || verdict=FAILED
    if [ "$verdict" = ok ]; then
        echo "ok      $era $scenario"
        grep "needs a tool" "$scratch/judged" || true
    else
        echo "FAILED  $era $scenario"
        cat "$scratch/judged"
        [ -d "$scratch/results" ] || cat "$scratch/out"
        failed=1
    fi
done <"$scratch/run"
exit $failed
