#!/bin/sh
# Makes a release of a built hm with plugin/release.sh, serves it on loopback, and installs it by each route that the README
# names: npm into an empty prefix, and the shell installer in an empty root with nothing but busybox. No network but
# loopback, and no account. Linux only. Needs npm, unshare, ip, curl, busybox-static and a built hm:
#   cargo build && tests/install.sh [path to hm] [clients]
# With `clients`, it also types a person's first minutes, and prints them: npm install, hm init, a claim in Claude Code, and
# Codex reads it. Their model is a script on loopback (tests/clients/model.mjs).
# Exits 1 unless each installed hm says its version, makes a claim and reads it, a changed archive is refused, and the crate
# fits crates.io. PowerShell and Homebrew are not there: what is made for them is looked at as text.
set -eu

self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$(dirname "$0")/.."
if [ -z "${HM_ALONE:-}" ] && [ "${2:-}" = clients ]; then
    target=${CARGO_TARGET_DIR:-target}
    . tests/clients/tools.sh
    export PATH
fi
[ -n "${HM_ALONE:-}" ] || exec unshare --user --map-root-user --net --mount --pid --fork --kill-child --mount-proc env HM_ALONE=1 "$self" "$@"
ip link set lo up

beside=$(pwd)/tests/install
hm=${1:-${CARGO_TARGET_DIR:-target}/debug/hm}
[ -x "$hm" ] || { echo "no $hm: run cargo build first, or name the binary" >&2; exit 2; }
scratch=$(cd "$(mktemp -d)" && pwd -P)
# The processes end with the namespace; mounts do too.
trap 'umount -l "$scratch/root/proc" "$scratch/root/dev" 2>/dev/null; rm -rf --one-file-system "$scratch"' EXIT
trap 'exit 130' INT TERM
mkdir "$scratch/home" "$scratch/release" "$scratch/tmp"

failed=0
passed() { echo "ok      $1"; }
failed() {
    echo "FAILED  $1"
    sed 's/^/    /' "$scratch/said" | head -30
    failed=1
}
# A command, after what it is and what it must print.
says() {
    what=$1 wanted=$2
    shift 2
    if "$@" >"$scratch/said" 2>&1 </dev/null && grep -q -e "$wanted" "$scratch/said"; then passed "$what"; else failed "$what"; fi
}
refuses() {
    what=$1 wanted=$2
    shift 2
    if "$@" >"$scratch/said" 2>&1 </dev/null || ! grep -q -e "$wanted" "$scratch/said"; then failed "$what"; else passed "$what"; fi
}

# What crates.io would get: it takes 10 MiB.
if command -v cargo >/dev/null; then
    cargo package --offline --allow-dirty --no-verify --quiet --target-dir "$scratch/crate" 2>/dev/null
    bytes=$(stat -c %s "$scratch"/crate/package/*.crate)
    echo "$bytes bytes" >"$scratch/said"
    if [ "$bytes" -lt 10485760 ]; then passed "the crate has $bytes bytes"; else failed "the crate fits crates.io"; fi
    rm -r "$scratch/crate"
fi

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
target=$(uname -m)-unknown-linux-musl # a dynamic hm takes its libraries along, below
cp "$hm" "$scratch/built"
strip --strip-debug "$scratch/built"
plugin/release.sh "$scratch/release" http://127.0.0.1/nowhere "$target=$scratch/built" "aarch64-apple-darwin=$scratch/built" >"$scratch/handed"
node "$beside/mirror.mjs" "$scratch/release" "$scratch/address" &
until [ -s "$scratch/address" ]; do sleep 0.1; done
url=$(cat "$scratch/address")

user() { # a command of a user who has nothing yet but npm
    env -i PATH="$scratch/prefix/bin:$PATH" HOME="$scratch/home" TMPDIR="$scratch/tmp" LANG=C.UTF-8 HM_AGENT=devops HM_PATIENCE_MS=20000 \
        npm_config_cache="$scratch/npm" npm_config_registry="$url" npm_config_audit=false npm_config_fund=false \
        npm_config_update_notifier=false npm_config_fetch_retries=0 "$@"
}
claim="the mirror serves one release"

# npm, as after `npm publish`: the platforms that this release has no build for are not in the registry.
mkdir "$scratch/work"
says "npm install -g hivemind-mcp" "added 2 packages" user npm install -g --prefix "$scratch/prefix" hivemind-mcp
says "hm --version" "^hm $version\$" user hm --version
says "npx hivemind-mcp --version" "^hm $version\$" user sh -c "cd '$scratch/tmp' && npx --yes hivemind-mcp --version"
mkdir "$scratch/project"
says "npm install in a project" "added 2 packages" user npm install --prefix "$scratch/project" hivemind-mcp
says "npx hm --version in a project" "^hm $version\$" user sh -c "cd '$scratch/project' && npx hm --version"
says "hm init --yes" "hm doctor" user hm init --yes --clients claude --dir "$scratch/work"
says "hm claim create" "C1" user hm claim create "$claim" --dir "$scratch/work" --type fact
says "hm claim list" "$claim" user hm claim list --dir "$scratch/work"
says "hm doctor sees the hm of npm" "ok .*hm .* $version at\|of the same version $version" user sh -c "cd '$scratch/work' && hm doctor || true"
refuses "a wrong word exits as hm does" "unrecognized" user hm nonsense
user hm nonsense >/dev/null 2>&1 || code=$?
echo "exit $code" >"$scratch/said"
if [ "$code" = 2 ]; then passed "its exit code arrives"; else failed "its exit code arrives"; fi
rm -r "$scratch/prefix/lib/node_modules/hivemind-mcp/node_modules"
refuses "without its platform package it says which" "hivemind-mcp-linux" user hm --version

# What cannot run here: the text has the address and the checksum of each archive.
for archive in "$target" aarch64-apple-darwin; do
    sum=$(cut -d' ' -f1 "$scratch/release/hm-$archive.tar.gz.sha256")
    says "the formula has the archive for $archive" "hm-$archive.tar.gz\"" grep -B1 "sha256 \"$sum\"" "$scratch/release/hivemind-mcp.rb"
done
if command -v ruby >/dev/null; then says "the formula is Ruby" "Syntax OK" ruby -c "$scratch/release/hivemind-mcp.rb"; fi
says "the PowerShell installer has the address" "url = 'http://127.0.0.1/nowhere'" cat "$scratch/release/install.ps1"
for last in "upload hm-" "npm publish" "mcp-publisher publish" "cargo publish" "git add Formula"; do
    says "the release names what hands it out: $last" "$last" cat "$scratch/handed"
done

chroot=$(PATH=$PATH:/usr/sbin:/sbin command -v chroot)
says "curl URL/install.sh | sh" "^hm $version is $scratch/curl/hm" \
    user env HM_INSTALL_URL="$url/release" HM_INSTALL_DIR="$scratch/curl" sh -c "curl -fsSL '$url/release/install.sh' | sh"
# The shell installer, in a root of its own: busybox, and the libraries of a dynamic hm.
root=$scratch/root
mkdir -p "$root/bin" "$root/proc" "$root/dev" "$root/tmp" "$root/home/work"
cp "$(command -v busybox)" "$root/bin"
"$root/bin/busybox" --install -s "$root/bin"
for link in "$root"/bin/*; do [ ! -L "$link" ] || ln -sf busybox "$link"; done
for library in $(ldd "$scratch/built" 2>/dev/null | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$library")"
    cp "$library" "$root$library"
done
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
inside() { # a shell command in that root
    env -i PATH=/home/.local/bin:/bin HOME=/home HM_INSTALL_URL="$url/release" HM_AGENT=devops HM_PATIENCE_MS=20000 \
        "$chroot" "$root" /bin/sh -c "$1"
}
piped="wget -q -O - \$HM_INSTALL_URL/install.sh | sh"
says "wget -O - URL/install.sh | sh" "^hm $version is /home/.local/bin/hm" inside "$piped"
says "hm init --yes there" "hm doctor" inside "cd /home/work && hm init --yes --clients claude"
says "hm claim create there" "C1" inside "cd /home/work && hm claim create '$claim' --type fact"
says "hm claim list there" "$claim" inside "cd /home/work && hm claim list"
says "a second time, with a writer that runs" "^hm $version is" inside "$piped"
refuses "without an address it says so" "set HM_INSTALL_URL" inside "unset HM_INSTALL_URL; wget -q -O - $url/release/install.sh | sed 's/^URL=.*/URL=/' | sh"
says "the address of the release is in the installer" "^URL=http://127.0.0.1/nowhere\$" inside "wget -q -O - $url/release/install.sh"
rm "$root/home/.local/bin/hm"
printf x >>"$scratch/release/hm-$target.tar.gz"
refuses "a changed archive is refused" "has the SHA-256" inside "$piped"
refuses "and nothing is installed" "No such file" inside "ls /home/.local/bin/hm"
rm "$scratch/release/hm-$target.tar.gz"
refuses "an archive that is not there is named" "hm-$target.tar.gz cannot be fetched" inside "$piped"

# A person's first minutes, with what a person answers once: that the project is trusted.
typed=0
types() { # a line, run in the project; prints what it said, and the time it took
    typed=$((typed + 1))
    echo "\$ $1"
    (cd "$scratch/shop" && env -i PATH="$scratch/prefix/bin:$PATH" HOME="$scratch/home" TMPDIR="$scratch/tmp" LANG=C.UTF-8 TERM=dumb \
        npm_config_cache="$scratch/npm" npm_config_registry="$url" npm_config_prefix="$scratch/prefix" npm_config_audit=false \
        npm_config_fund=false npm_config_update_notifier=false ANTHROPIC_BASE_URL="${model:-}" ANTHROPIC_API_KEY=none MODEL_KEY=none \
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 HM_PATIENCE_MS=20000 \
        sh -c "$1") >"$scratch/said" 2>&1 </dev/null || echo "exit $?" >>"$scratch/said"
    sed 's/^/    /' "$scratch/said"
}
follows() { # a model, with its script; its address is in $model, its requests in $scratch/$1
    mkdir "$scratch/$1"
    node "$beside/../clients/model.mjs" "$scratch/$1" "$2" 2>/dev/null &
    until [ -s "$scratch/$1/port" ]; do sleep 0.1; done
    model=http://127.0.0.1:$(cat "$scratch/$1/port")
}
first_minutes() {
    statement="the pool opens at most 20 connections"
    mkdir -p "$scratch/shop/.claude" "$scratch/home/.codex"
    git init --quiet "$scratch/shop"
    echo '{"hasCompletedOnboarding":true,"projects":{"'"$scratch/shop"'":{"hasTrustDialogAccepted":true}}}' >"$scratch/home/.claude.json"
    echo '{"enableAllProjectMcpServers":true,"permissions":{"allow":["mcp__hivemind"]}}' >"$scratch/shop/.claude/settings.local.json"
    rm -rf "$scratch/prefix"
    began=$(date +%s)
    types "npm install -g hivemind-mcp"
    types "hm init --yes"
    follows claude '[{"tool":"create_claim","arguments":{"statement":"'"$statement"'","claim_type":"fact","scopes":["src/net"]}}]'
    types "claude -p 'Keep what you know of the pool'"
    follows codex '[{"tool":"exec","arguments":"text(await tools.read_mcp_resource({ server: \"hivemind\", uri: \"hivemind://claims/C1\" }))"}]'
    cat >"$scratch/home/.codex/config.toml" <<TOML
model_provider = "script"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"
[analytics]
enabled = false
[model_providers.script]
name = "script"
base_url = "$model/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
[projects."$scratch/shop"]
trust_level = "trusted"
TOML
    (cd "$scratch/shop" && HOME=$scratch/home PATH=$scratch/prefix/bin:$PATH node "$beside/../clients/trust.mjs" "$scratch/shop")
    types "codex exec 'What do we know of the pool?'"
    types "hm claim list"
    echo "$typed typed lines, $(($(date +%s) - began)) s"
    cp "$scratch/said" "$scratch/list"
    says "Claude Code made the claim" "^C1 $statement (proposed, by architect)" cat "$scratch/list"
    says "the first request of Codex's model has it" "$statement" cat "$scratch/codex/001.json"
    says "and Codex reads it by its name" "$statement" node -e 'for (const item of JSON.parse(require("fs").readFileSync(process.argv[1])).input)
        if (item.type.endsWith("_output")) console.log(JSON.stringify(item.output))' "$scratch/codex/002.json"
}
[ "${2:-}" != clients ] || first_minutes
exit $failed
