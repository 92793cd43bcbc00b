//! Everything that is tested through the public face: real files, real processes, real MCP clients.

mod crash;
mod fixtures;
mod harness;
mod laws;
mod processes;
mod spool;
mod tamper;
mod walls;
