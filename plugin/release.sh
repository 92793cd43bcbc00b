#!/bin/sh
# Makes what a release hands out, from programs that are built already; it publishes nothing.
#   plugin/release.sh OUT URL TARGET=FILE [TARGET=FILE ...]
#   plugin/release.sh out https://example.org/hm x86_64-unknown-linux-musl=target/x86_64-unknown-linux-musl/dist/hm
# OUT then has hm-TARGET.tar.gz with its .sha256, install.sh and install.ps1, which fetch them from URL, the formula for
# Homebrew, and the packages for npm. It prints the command that hands out each.
set -eu

[ $# -ge 3 ] || { sed -n '2,6s/^# *//p' "$0" >&2; exit 2; }
plugin=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
url=${2%/}
shift 2
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$plugin/npm/package.json")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

# The name that npm has for a target: system, processor.
platform() {
    case $1 in
    x86_64-unknown-linux-*) echo linux x64 ;;
    aarch64-unknown-linux-*) echo linux arm64 ;;
    x86_64-apple-darwin) echo darwin x64 ;;
    aarch64-apple-darwin) echo darwin arm64 ;;
    x86_64-pc-windows-*) echo win32 x64 ;;
    *) echo "no package for $1" >&2; exit 2 ;;
    esac
}

sha256() {
    if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi
}

npm_pack() { # of a directory; the license goes into each
    cp "$plugin/../LICENSE-MIT" "$plugin/../LICENSE-APACHE" "$1"
    (cd "$out" && npm pack --silent --ignore-scripts "$1")
}

# The part of the formula for an archive. Homebrew has no Windows.
brewed() { # target, SHA-256
    case $1 in
    x86_64-unknown-linux-musl) on="on_linux on_intel" ;;
    aarch64-unknown-linux-musl) on="on_linux on_arm" ;;
    x86_64-apple-darwin) on="on_macos on_intel" ;;
    aarch64-apple-darwin) on="on_macos on_arm" ;;
    *) return 0 ;;
    esac
    cat <<RUBY
  ${on% *} do
    ${on#* } do
      url "$url/hm-$1.tar.gz"
      sha256 "$2"
    end
  end

RUBY
}

: >"$scratch/formula"
for built; do
    target=${built%%=*}
    npm=$(platform "$target")
    system=${npm% *} processor=${npm#* }
    [ "$system" = win32 ] && file=hm.exe || file=hm
    dir=$scratch/$system-$processor
    mkdir "$dir"
    cp "${built#*=}" "$dir/$file"
    chmod 755 "$dir/$file"
    tar -czf "$out/hm-$target.tar.gz" -C "$dir" "$file"
    sum=$(sha256 <"$out/hm-$target.tar.gz" | cut -d' ' -f1)
    echo "$sum  hm-$target.tar.gz" >"$out/hm-$target.tar.gz.sha256"
    brewed "$target" "$sum" >>"$scratch/formula"
    cat >"$dir/package.json" <<JSON
{
  "name": "hivemind-mcp-$system-$processor",
  "version": "$version",
  "description": "hm of hivemind-mcp for $system on $processor",
  "license": "MIT OR Apache-2.0",
  "author": "The Hivemind authors",
  "os": ["$system"],
  "cpu": ["$processor"],
  "files": ["$file", "LICENSE-*"],
  "preferUnplugged": true
}
JSON
    npm_pack "$dir"
done

mkdir "$scratch/npm"
cp "$plugin/npm/package.json" "$plugin/npm/hm.js" "$plugin/../README.md" "$scratch/npm"
npm_pack "$scratch/npm"
sed "s|^URL=\$|URL=$url|" "$plugin/install.sh" >"$out/install.sh"
sed "s|^    \$url = ''\$|    \$url = '$url'|" "$plugin/install.ps1" >"$out/install.ps1"
cat >"$out/hivemind-mcp.rb" <<RUBY
class HivemindMcp < Formula
  desc "Shared, evidence-backed memory for a team of coding agents"
  homepage "$url"
  version "$version"
  license any_of: ["MIT", "Apache-2.0"]

$(cat "$scratch/formula")

  def install
    bin.install "hm"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/hm --version")
  end
end
RUBY
ls "$out"
cat <<TEXT

What hands it out, from $out:
  the archives and installers   upload hm-* and install.* to $url
  npm, platforms first          for package in hivemind-mcp-*-*-$version.tgz hivemind-mcp-$version.tgz; do npm publish "\$package"; done
  the MCP registry, after npm   mcp-publisher publish $plugin/server.json
  crates.io, from the clone     cargo publish
  Homebrew, in a clone of a tap cp $out/hivemind-mcp.rb Formula/ && git add Formula && git commit -m "hivemind-mcp $version" && git push
TEXT
