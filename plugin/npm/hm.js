#!/usr/bin/env node
// Becomes the hm of this platform, which came as an optional dependency; nothing is downloaded here.
"use strict";
const { spawn } = require("node:child_process");
const os = require("node:os");

const name = `hivemind-mcp-${process.platform}-${process.arch}`;
let hm;
try {
  hm = require.resolve(`${name}/hm${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`hm: the package ${name} is not installed: npm install it without --omit=optional.
Where npm has no such package, there is no build for this platform: cargo install hivemind-mcp --locked`);
  process.exit(1);
}

const words = process.argv.slice(2);
// Node 22.15 and later can hand its process over, so that hm is the child of the client that started it.
if (process.execve) process.execve(hm, [hm, ...words], process.env);

const child = spawn(hm, words, { stdio: "inherit" });
const passed = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of passed) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`hm: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + os.constants.signals[signal] : code);
});
