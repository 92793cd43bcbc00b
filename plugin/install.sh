#!/bin/sh
# Installs hm for this user: fetches the archive for this machine and its checksum, compares, and unpacks hm.
#   HM_INSTALL_URL  where hm-TARGET.tar.gz and hm-TARGET.tar.gz.sha256 lie
#   HM_INSTALL_DIR  where hm goes (default ~/.local/bin)
# Needs curl or wget, tar, and sha256sum or shasum.
set -eu

# plugin/release.sh writes the address of the release here.
URL=

refuse() {
    echo "hm is not installed: $1" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

fetch() { # address, file
    if has curl; then
        curl -fsSL -o "$2" "$1"
    elif has wget; then
        wget -q -O "$2" "$1"
    else
        refuse "curl or wget is needed"
    fi
}

sha256() {
    if has sha256sum; then
        sha256sum
    elif has shasum; then
        shasum -a 256
    else
        refuse "sha256sum or shasum is needed"
    fi
}

target() {
    case $(uname -s)/$(uname -m) in
    Linux/x86_64) echo x86_64-unknown-linux-musl ;;
    Linux/aarch64 | Linux/arm64) echo aarch64-unknown-linux-musl ;;
    Darwin/x86_64) echo x86_64-apple-darwin ;;
    Darwin/arm64) echo aarch64-apple-darwin ;;
    *) refuse "there is no build for $(uname -s) on $(uname -m); cargo install hivemind-mcp --locked builds it" ;;
    esac
}

# Called in the last line, so that half of this script does nothing.
install() {
    url=${HM_INSTALL_URL:-$URL}
    url=${url%/}
    [ -n "$url" ] || refuse "set HM_INSTALL_URL to the address of a release"
    dir=${HM_INSTALL_DIR:-$HOME/.local/bin}
    target=$(target)
    archive=hm-$target.tar.gz
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT TERM

    fetch "$url/$archive" "$scratch/$archive" || refuse "$url/$archive cannot be fetched"
    fetch "$url/$archive.sha256" "$scratch/sum" || refuse "$url/$archive.sha256 cannot be fetched"
    wanted=$(cut -d' ' -f1 "$scratch/sum")
    found=$(sha256 <"$scratch/$archive" | cut -d' ' -f1)
    [ "64 $wanted" = "${#found} $found" ] || refuse "$archive has the SHA-256 $found, and not $wanted"

    tar -xzf "$scratch/$archive" -C "$scratch" hm
    "$scratch/hm" --version >/dev/null || refuse "the hm of $target does not run here"
    mkdir -p "$dir"
    # A running hm keeps its file: the new one takes its name.
    cp "$scratch/hm" "$dir/.hm.new"
    chmod 755 "$dir/.hm.new"
    mv -f "$dir/.hm.new" "$dir/hm"
    echo "$("$dir/hm" --version) is $dir/hm"
    case :$PATH: in
    *:"$dir":*) echo "next, in a project: hm init" ;;
    *) echo "add it to the PATH: export PATH=\"$dir:\$PATH\"; then, in a project: hm init" ;;
    esac
}

install
