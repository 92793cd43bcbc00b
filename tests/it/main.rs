//! Everything that is tested through the public face: real files, real processes, real MCP clients.

mod backup;
mod bench;
mod checkpoints;
mod cli;
mod completions;
mod contradictions;
mod crash;
mod decisions;
mod demo;
mod evidence;
mod fixtures;
mod forget;
mod harness;
mod http;
mod import;
mod integrity;
mod kill;
mod laws;
mod mcp;
mod notes;
mod paging;
mod poisoned;
mod privacy;
mod processes;
mod profiles;
#[cfg(unix)]
mod runner;
mod schedule;
mod search;
mod search_faces;
mod secrets;
mod shell;
mod spool;
mod tamper;
mod travel;
mod walls;
