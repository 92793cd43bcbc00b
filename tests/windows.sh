#!/bin/sh
# Runs hm.exe under Wine: a workspace, a claim, the list, the ledger, and the refusal of an experiment. Needs Wine, a MinGW
# compiler and a built hm.exe:
#   cargo build --target x86_64-pc-windows-gnu && tests/windows.sh [path to hm.exe]
# Exits 1 when anything is not as it should be.
set -eu

cd "$(dirname "$0")/.."
exe=${1:-${CARGO_TARGET_DIR:-target}/x86_64-pc-windows-gnu/debug/hm.exe}
[ -f "$exe" ] || { echo "no $exe: build it first, or name it" >&2; exit 2; }
wine=$(PATH=$PATH:/usr/lib/wine command -v wine64) || { echo "wine64 is needed" >&2; exit 2; }
server=$(PATH=$PATH:/usr/lib/wine command -v wineserver || PATH=$PATH:/usr/lib/wine command -v wineserver64)

scratch=$(cd "$(mktemp -d)" && pwd -P)
export WINEPREFIX="$scratch/wine" WINEDEBUG=-all XDG_RUNTIME_DIR="$scratch" HM_AGENT=devops HM_PATIENCE_MS=60000
trap '"$server" -k || true; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
mkdir "$scratch/work"
cp "$exe" "$scratch/hm.exe"
# Windows 7 and later have this library, Wine since its ninth version.
cat >"$scratch/random.c" <<'C'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) { return SystemFunction036(bytes, (ULONG)count); }
C
x86_64-w64-mingw32-gcc -shared -o "$scratch/bcryptprimitives.dll" "$scratch/random.c" -ladvapi32

failed=0
says() { # what it must print, and the words of hm
    wanted=$1
    shift
    (cd "$scratch/work" && "$wine" "$scratch/hm.exe" "$@") >"$scratch/said" 2>&1 </dev/null || true
    if grep -q -e "$wanted" "$scratch/said"; then
        echo "ok      hm $*"
    else
        echo "FAILED  hm $* (wanted: $wanted)"
        sed 's/^/    /' "$scratch/said" | head -20
        failed=1
    fi
}
says "^hm [0-9]" --version
says "the workspace is made" init --yes --clients claude
says "claim created C1" claim create "the pool opens at most 20 connections" --type fact
says "^C1 the pool opens" claim list
says "^ok: 1 events" verify
says "ok  *store" doctor
says "experiments run on Linux and macOS only" experiment run cargo-check --claim C1
exit $failed
