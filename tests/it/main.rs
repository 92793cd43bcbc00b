//! Everything that is tested through the public face: real files, real processes, real MCP clients.

mod bench;
mod cli;
mod crash;
mod demo;
mod fixtures;
mod harness;
mod http;
mod kill;
mod laws;
mod mcp;
mod processes;
mod shell;
mod spool;
mod tamper;
mod walls;
