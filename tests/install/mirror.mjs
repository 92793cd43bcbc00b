// Serves a release on loopback: its files under /release/, and its npm packages as a registry does.
// node mirror.mjs DIR FILE: the address goes into FILE.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, join } from "node:path";

const [dir, file] = process.argv.slice(2);
const packed = readdirSync(dir).filter((name) => name.endsWith(".tgz"));
const packages = new Map(
  packed.map((tarball) => {
    const manifest = JSON.parse(execFileSync("tar", ["-xzOf", join(dir, tarball), "package/package.json"]));
    return [manifest.name, { manifest, tarball }];
  }),
);

function described(name, host) {
  const { manifest, tarball } = packages.get(name);
  const integrity = `sha512-${createHash("sha512").update(readFileSync(join(dir, tarball))).digest("base64")}`;
  const dist = { tarball: `http://${host}/release/${tarball}`, integrity };
  const { version } = manifest;
  return JSON.stringify({ name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } });
}

const server = createServer(({ url, headers }, answer) => {
  const name = decodeURIComponent(url.slice(1));
  try {
    answer.end(packages.has(name) ? described(name, headers.host) : readFileSync(join(dir, basename(name))));
  } catch {
    answer.writeHead(404).end("{}");
  }
});
server.listen(0, "127.0.0.1", () => {
  writeFileSync(`${file}.new`, `http://127.0.0.1:${server.address().port}`);
  renameSync(`${file}.new`, file);
});
