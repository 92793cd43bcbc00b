#!/bin/sh
# Runs a program of the tests where no client of agents is above it, and exits with its code. Where an agent runs the tests,
# `hm` would otherwise take all of them for the shell of that agent, which speaks under one name. `hm` itself, as `cargo run`
# starts it, stays below the client.
set -eu

case $1 in
    hm | */hm) exec "$@" ;;
esac
setsid --fork true 2>/dev/null || exec "$@"

dir=$(mktemp -d)
mkfifo "$dir/began"
leave() {
    kill -- "-$leader" 2>/dev/null || true
    rm -rf "$dir"
}
# The program starts after `setsid` has ended, so that the new parent is the one of orphans.
setsid --fork sh -c '
    dir=$1
    shift
    echo $$ >"$dir/began"
    code=0
    "$@" || code=$?
    echo "$code" >"$dir/code.new"
    mv "$dir/code.new" "$dir/code"
' sh "$dir" "$@"
read -r leader <"$dir/began"
trap 'leave; exit 130' INT
trap 'leave; exit 143' TERM HUP
while [ ! -e "$dir/code" ] && kill -0 "$leader" 2>/dev/null; do
    sleep 0.1
done
code=$(cat "$dir/code" 2>/dev/null || echo 1)
rm -rf "$dir"
exit "$code"
