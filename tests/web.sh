#!/bin/sh
# Opens `hm web` in a headless Chromium: Debian's, driven by playwright-core, with axe-core for accessibility. Needs npm
# and a built hm; installs Chromium by apt-get when it is absent and this is root:
#   cargo build && tests/web.sh [path to hm] [--pictures DIR] [--claims N] [--within MS] [--only demo|empty|attack|served|clicks|speed]
# --only runs one part: the pages of the demo, those of an empty memory, the hostile texts, those behind tokens, a
# person who clicks fast, or the time of each page of a large memory.
# --pictures keeps the screenshots of three pages. --claims is the size of the large memory, 10000 if it is not given;
# --within fails where the median of a page of it takes longer, which means something for a release build alone.
# tests/web/run.mjs says what is checked. Exits 1 when a check fails.
set -eu

PLAYWRIGHT=1.65.1
AXE=4.14.1
NODE=24.21.0 # many machines carry an older one

cd "$(dirname "$0")/.."
beside=$(pwd)/tests/web
target=${CARGO_TARGET_DIR:-target}
hm=$target/debug/hm
pictures=
claims=10000
within=0
only=
while [ $# -gt 0 ]; do
    case $1 in
        --pictures) mkdir -p "$2" && pictures=$(cd "$2" && pwd) && shift 2 ;;
        --claims) claims=$2 && shift 2 ;;
        --within) within=$2 && shift 2 ;;
        --only) only=$2 && shift 2 ;;
        *) hm=$1 && shift ;;
    esac
done
[ -x "$hm" ] || { echo "no $hm: run cargo build first, or name the binary" >&2; exit 2; }
hm=$(cd "$(dirname "$hm")" && pwd)/$(basename "$hm")
command -v npm >/dev/null || { echo "npm is needed" >&2; exit 2; }

if ! command -v chromium >/dev/null; then
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || { echo "chromium is needed" >&2; exit 2; }
    echo "installing chromium"
    apt-get update -q >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium >/dev/null
fi

mkdir -p "$target"
tools=$(cd "$target" && pwd)/web-$PLAYWRIGHT-$AXE-$NODE
if [ ! -e "$tools/complete" ]; then
    echo "installing the driver of the browser into $tools (about 200 MB, once)"
    mkdir -p "$tools"
    npm install --prefix "$tools" --no-audit --no-fund --loglevel=error \
        "node@$NODE" "playwright-core@$PLAYWRIGHT" "axe-core@$AXE"
    touch "$tools/complete"
fi

scratch=$(cd "$(mktemp -d)" && pwd -P)
story=
leave() {
    [ -z "$story" ] || kill "$story" 2>/dev/null || true
    for work in "$scratch"/*/; do
        writer=$(cat "$work/.hivemind/runtime/writer.lock" 2>/dev/null || true)
        [ -z "$writer" ] || kill "$writer" 2>/dev/null || true
    done
    rm -rf "$scratch"
}
trap leave EXIT
trap 'exit 130' INT TERM

# Nothing of the user's. On a busy machine hm waits for its writer.
mkdir -p "$scratch/tmp"
env -i PATH="$tools/node_modules/node/bin:$PATH" HOME="$scratch" TMPDIR="$scratch/tmp" TERM=dumb LANG=C.UTF-8 \
    XDG_STATE_HOME="$scratch/state" HM_PATIENCE_MS=20000 \
    node "$beside/run.mjs" "$hm" "$scratch" "$tools" "$(command -v chromium)" "$claims" "$within" "$only" "$pictures" &
story=$!
code=0
wait "$story" || code=$?
story=
exit $code
