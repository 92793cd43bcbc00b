//! Everything that is tested through the public face: real files, real processes, real MCP clients.

mod cli;
mod shell;
mod walls;
