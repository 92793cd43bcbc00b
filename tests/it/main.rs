//! Everything that is tested through the public face: real files, real processes, real MCP clients.

mod bench;
mod kill;
mod mcp;
mod walls;
