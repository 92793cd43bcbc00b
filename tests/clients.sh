#!/bin/sh
# Runs Claude Code, Codex, Gemini CLI, Copilot CLI, Qwen Code and opencode against hm, headless, each asked twice: in a new session and resumed. Their
# model is a script on loopback (tests/clients/model.mjs): no account, no network but npm's. Needs npm, git and a built hm:
#   cargo build && tests/clients.sh [path to hm] [claude|codex|gemini|copilot|qwen|opencode ...]
# What they read is what `hm init` writes; besides, only trust and the way to the model. Exits 1 unless in every run the
# session-start context arrives uncut in the model's request, the model is told of every tool, the claim it makes lands
# under the pane's agent and under the session the client told its hooks, the warning before a dead end arrives, and the
# session is in the ledger: begun, with its prompt, and ended; the end of the turn costs no request; what a client runs
# from the settings of another one is silent; the tool that reads is offered where no resource can be read; and
# `hm doctor` finds no fault in what just worked.
# Besides, two panes of Claude Code that nothing pins are two agents, and one confirms what the other claims.
set -eu

AGENT=devops

cd "$(dirname "$0")/.."
beside=$(pwd)/tests/clients
target=${CARGO_TARGET_DIR:-target}
hm=${1:-$target/debug/hm}
[ $# -eq 0 ] || shift
[ -x "$hm" ] || { echo "no $hm: run cargo build first, or name the binary" >&2; exit 2; }
hm=$(cd "$(dirname "$hm")" && pwd)/$(basename "$hm")
. "$beside/tools.sh"

scratch=$(cd "$(mktemp -d)" && pwd -P) # clients trust a directory by its real name
model=
end_writer() {
    writer=$(cat "$1/.hivemind/runtime/writer.lock" 2>/dev/null || true)
    [ -z "$writer" ] || kill "$writer" 2>/dev/null || true
}
leave() {
    [ -z "$model" ] || kill "$model" 2>/dev/null || true
    for work in "$scratch"/*/work; do end_writer "$work"; done
    rm -rf "$scratch"
}
trap leave EXIT
trap 'exit 130' INT TERM

# A command in a pane: who it is, nothing else of the user's, and no way out but loopback.
alone() {
    env -i PATH="$home/bin:$PATH" HOME="$home" TMPDIR="$home/tmp" TERM=xterm-256color LANG=C.UTF-8 ${AGENT:+HM_AGENT="$AGENT"} \
        XDG_STATE_HOME="$home/state" HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 NO_PROXY=127.0.0.1 "$@"
}

# What clients find as `hm`: keeps what hooks are told and what they answer, and becomes the real one, so that it is
# the child of whoever started it.
recorded_hm() {
    mkdir -p "$home/bin"
    cat >"$home/bin/hm" <<HM
#!/bin/sh
[ "\$1" = hook ] && [ -d '$run/hooks' ] || exec '$hm' "\$@"
call=\$(mktemp -d '$run/hooks/XXXXXX')
echo "\$2" >"\$call/named"
cat >"\$call/in"
mkfifo "\$call/pipe"
tee "\$call/out" <"\$call/pipe" &
exec '$hm' "\$@" <"\$call/in" >"\$call/pipe"
HM
    chmod +x "$home/bin/hm"
}

# --- each client: what it needs besides our files, and how it is asked; `script` is what the model does ----------

claude_needs() {
    mkdir -p "$work/.claude"
    cat >"$work/.claude/settings.local.json" <<JSON
{ "enableAllProjectMcpServers": true, "permissions": { "allow": ["mcp__hivemind", "Bash"] } }
JSON
    echo '{"hasCompletedOnboarding":true,"projects":{"'"$work"'":{"hasTrustDialogAccepted":true}}}' >"$home/.claude.json"
}
claude_script() {
    echo '[{"tool":"create_claim","arguments":'"$1"'},{"tool":"Bash","arguments":{"command":"'"$2"'"}}]'
}
claude_asked() {
    [ "$how" = new ] || set -- --continue "$@"
    alone ANTHROPIC_BASE_URL="$url" ANTHROPIC_API_KEY=none CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
        DISABLE_AUTOUPDATER=1 claude -p "$@"
}

codex_needs() {
    mkdir -p "$home/.codex"
}
codex_script() { # it is told of the server, lists its tools and calls them from JavaScript
    echo '[{"tool":"exec","arguments":"text(ALL_TOOLS.map((tool) => tool.name))"},
           {"tool":"exec","arguments":"text(await tools.mcp__hivemind__create_claim('"$(echo "$1" | sed 's/"/\\"/g')"'))"},
           {"tool":"exec","arguments":"text(await tools.exec_command({ cmd: \"'"$2"'\" }))"}]'
}
codex_asked() {
    # The model's address differs from run to run.
    cat >"$home/.codex/config.toml" <<TOML
model_provider = "script"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"
[analytics]
enabled = false
[model_providers.script]
name = "script"
base_url = "$url/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
[projects."$work"]
trust_level = "trusted"
TOML
    [ "$how" = new ] || set -- resume --last "$@"
    alone node "$beside/trust.mjs" "$work" && alone MODEL_KEY=none codex exec "$@"
}

gemini_needs() {
    mkdir -p "$home/.gemini"
    cat >"$home/.gemini/settings.json" <<JSON
{ "security": { "auth": { "selectedType": "gemini-api-key" } }, "privacy": { "usageStatisticsEnabled": false },
  "general": { "enableAutoUpdate": false } }
JSON
    echo '{"'"$work"'":"TRUST_FOLDER"}' >"$home/.gemini/trustedFolders.json"
}
gemini_script() {
    echo '[{"tool":"create_claim","arguments":'"$1"'},{"tool":"run_shell_command","arguments":{"command":"'"$2"'"}}]'
}
gemini_asked() {
    [ "$how" = new ] || set -- "$@" --resume latest
    # A named model: otherwise another one is asked first which to take.
    alone GOOGLE_GEMINI_BASE_URL="$url" GEMINI_API_KEY=none gemini --model gemini-2.5-pro --yolo -p "$@"
}

copilot_needs() {
    mkdir -p "$home/.copilot"
    echo '{"trustedFolders":["'"$work"'"]}' >"$home/.copilot/config.json"
}
copilot_script() {
    echo '[{"tool":"create_claim","arguments":'"$1"'},
           {"tool":"bash","arguments":{"command":"'"$2"'","description":"run it"}}]'
}
copilot_asked() {
    [ "$how" = new ] || set -- "$@" --continue
    alone COPILOT_PROVIDER_BASE_URL="$url/v1" COPILOT_PROVIDER_TYPE=openai COPILOT_PROVIDER_API_KEY=none \
        COPILOT_MODEL=script COPILOT_OFFLINE=true copilot --allow-all-tools -p "$@"
}

qwen_needs() {
    mkdir -p "$home/.qwen"
    echo '{ "security": { "auth": { "selectedType": "openai" } }, "general": { "enableAutoUpdate": false } }' \
        >"$home/.qwen/settings.json"
}
qwen_script() { # it loads tools of servers when its model searches for them
    echo '[{"tool":"tool_search","arguments":{"query":"select:mcp__hivemind__create_claim"}},
           {"tool":"tool_call","arguments":{"name":"mcp__hivemind__create_claim","arguments":'"$1"'}},
           {"tool":"run_shell_command","arguments":{"command":"'"$2"'","is_background":false}}]'
}
qwen_asked() {
    [ "$how" = new ] || set -- "$@" --continue
    alone OPENAI_BASE_URL="$url/v1" OPENAI_API_KEY=none OPENAI_MODEL=script qwen --yolo -p "$@"
}

opencode_needs() {
    mkdir -p "$home/.config/opencode"
}
opencode_script() {
    echo '[{"tool":"create_claim","arguments":'"$1"'},
           {"tool":"bash","arguments":{"command":"'"$2"'","description":"run it"}}]'
}
opencode_asked() { # it first waits a minute for npm, which it cannot reach here
    cat >"$home/.config/opencode/opencode.json" <<JSON
{ "provider": { "script": { "npm": "@ai-sdk/openai-compatible", "options": { "baseURL": "$url/v1", "apiKey": "none" },
  "models": { "script": {} } } },
  "model": "script/script", "small_model": "script/script", "autoupdate": false, "share": "disabled" }
JSON
    [ "$how" = new ] || set -- --continue "$@"
    alone OPENCODE_DISABLE_MODELS_FETCH=1 opencode run "$@"
}

# -----------------------------------------------------------------------------------------------------------------

# A dead end with a trigger, and more of the agent's own than a context can hold, not all ASCII, none of it alike.
fill() {
    alone env HM_AGENT=analyst "$hm" claim create "vendoring breaks the build of the embedded target" --dir "$work" \
        --type negative --scope tag:build --trigger-command "make vendor" --json >"$home/dead-end.json"
    number=0
    while [ $number -lt 60 ]; do
        number=$((number + 1))
        alone "$hm" claim create "part $number answers within $((number * 7)) ms & logs <$number> to a file of its own, é" \
            --dir "$work" --scope "src/part-$number" >/dev/null
    done
}

# What the server lists, as one answer of the protocol.
list_tools() {
    meta='{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"clients.sh","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}'
    echo '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":'"$meta"'}}' |
        alone "$hm" serve --dir "$work"
}

# Asks a client once; what it is asked does not matter.
ask() {
    rm -rf "$run"
    mkdir -p "$run/hooks" "$run/model"
    statement="$client listens on a port of its own in a $how session"
    prompt="What is there to know about ports in a $how session?"
    claim='{"statement":"'$statement'","claim_type":"fact","scopes":["src/net"]}'
    # The trigger, as nobody wrote it down.
    command="cd . && make  vendor 2>&1 | tail -3"
    start_model "$("${client}_script" "$claim" "$command")"

    code=0
    (cd "$work" && "${client}_asked" "$prompt") >"$run/said" 2>&1 </dev/null || code=$?
    kill "$model"
    wait "$model" 2>/dev/null || true
    model=
    sleep 1 # a client does not wait for its last hook
    session=$(cat "$run"/hooks/*/in | sed -n 's/.*"session_\{0,1\}[iI]d": *"\([^"]*\)".*/\1/p' | head -1)
    alone "$hm" session show "$session" --json --dir "$work" >"$run/session.json" || echo null >"$run/session.json"
    alone "$hm" log --json --type claim.created --limit 500 --dir "$work" >"$run/log.json"
    list_tools >"$run/tools.json"
    (cd "$work" && alone "$home/bin/hm" doctor --json) >"$run/doctor.json" || true

    echo "$client, $how session"
    node "$beside/judge.mjs" "$run" "$AGENT" "$client" "$statement" "$prompt" "$home/dead-end.json" "$how" && [ "$code" -eq 0 ] || {
        failed=1
        echo "  $client left with $code and said:"
        sed 's/^/    /' "$run/said" "$run/model.log" | head -50
    }
}

# Starts the model with a script, for a run that lies in $run; its address is in $url.
start_model() {
    mkdir -p "$run/model"
    node "$beside/model.mjs" "$run/model" "$1" 2>"$run/model.log" &
    model=$!
    tries=0
    until [ -s "$run/model/port" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || { echo "the model does not start"; cat "$run/model.log"; exit 1; }
        sleep 0.1
    done
    url=http://127.0.0.1:$(cat "$run/model/port")
}

# Two panes of Claude Code in one project, side by side, without HM_AGENT: the first claims and stays, the second
# supports that and claims something in its shell.
two_panes() {
    AGENT= client=claude how=new
    home=$scratch/panes work=$scratch/panes/work
    run=$home # no hooks are kept
    mkdir -p "$home/tmp" "$work"
    git init --quiet "$work"
    recorded_hm
    alone "$hm" init --dir "$work" --clients claude --yes >/dev/null
    claude_needs

    run=$home/first
    claim='{"statement":"the pool holds 20 connections","claim_type":"fact","scopes":["src/net"]}'
    start_model "$(claude_script "$claim" "until [ -e $home/left ]; do sleep 0.2; done")"
    models=$model
    (cd "$work" && claude_asked "claim it") >"$run/said" 2>&1 </dev/null &
    first=$!
    tries=0
    until alone "$hm" log --json --type claim.created --dir "$work" >"$run/log.json" 2>/dev/null &&
        id=$(sed -n 's/.*"claim_id": *"\([^"]*\)".*/\1/p' "$run/log.json" | head -1) && [ -n "$id" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || { echo "the first pane claims nothing"; cat "$run/said"; break; }
        sleep 0.2
    done

    run=$home/second
    start_model '[{"tool":"support","arguments":{"claim_id":"'"$id"'"}},
        {"tool":"Bash","arguments":{"command":"hm claim create \"the cache is cold\" --scope src/net"}}]'
    models="$models $model"
    (cd "$work" && claude_asked "support it") >"$run/said" 2>&1 </dev/null || echo "the second pane left with $?"
    touch "$home/left"
    wait "$first" || echo "the first pane left with $?"
    for model in $models; do kill "$model" 2>/dev/null || true; done
    model=
    sleep 1 # a client does not wait for its last hook
    alone "$hm" log --json --limit 500 --dir "$work" >"$home/log.json"
    echo "claude, two panes"
    node "$beside/panes.mjs" "$home/log.json" || {
        failed=1
        for pane in first second; do sed "s/^/    $pane: /" "$home/$pane/said" "$home/$pane/model.log" | head -50; done
    }
    end_writer "$work"
}

failed=0
[ $# -gt 0 ] || set -- claude codex gemini copilot qwen opencode
for client in "$@"; do
    home=$scratch/$client work=$scratch/$client/work run=$scratch/$client/run
    mkdir -p "$home/tmp" "$work"
    git init --quiet "$work"
    recorded_hm
    case $client in
        # It also runs what stands in the settings of Claude Code.
        copilot) alone "$hm" init --dir "$work" --clients claude,copilot --yes >/dev/null ;;
        *) alone "$hm" init --dir "$work" --clients "$client" --yes >/dev/null ;;
    esac
    fill
    "${client}_needs"
    for how in new resumed; do ask; done
    end_writer "$work"
done
case " $* " in *" claude "*) two_panes ;; esac
exit $failed
