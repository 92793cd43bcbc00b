//! Everything that is tested through the public face: real files, real processes, real MCP clients.

mod backup;
mod bench;
mod checkpoints;
mod cli;
mod crash;
mod decisions;
mod demo;
mod fixtures;
mod harness;
mod http;
mod import;
mod kill;
mod laws;
mod mcp;
mod notes;
mod privacy;
mod processes;
mod profiles;
#[cfg(unix)]
mod runner;
mod search;
mod search_faces;
mod secrets;
mod shell;
mod spool;
mod tamper;
mod travel;
mod walls;
