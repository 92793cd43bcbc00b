//! Everything that is tested through the public face: real files, real processes, real MCP clients.

mod bench;
mod cli;
mod kill;
mod mcp;
mod search;
mod shell;
mod walls;
