//! Everything that is tested through the public face: real files, real processes, real MCP clients.

mod bench;
mod demo;
mod mcp;
mod walls;
