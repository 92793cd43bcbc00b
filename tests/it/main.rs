//! Everything that is tested through the public face: real files, real processes, real MCP clients.

mod fixtures;
mod harness;
mod laws;
mod tamper;
mod walls;
