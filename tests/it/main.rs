//! Everything that is tested through the public face: real files, real processes, real MCP clients.

mod actions;
mod attention;
mod backfill;
mod backup;
mod bench;
mod checkpoints;
mod cli;
mod clone;
mod completions;
mod context;
mod contradictions;
mod crash;
mod damage;
mod decisions;
mod demo;
mod disk;
mod doctor;
mod evidence;
mod experiments;
mod faults;
#[cfg(unix)]
mod fence;
mod fixtures;
mod forget;
mod frames;
mod harness;
mod hook;
mod hooks;
mod hostile;
mod http;
mod import;
mod init;
mod integrity;
mod kill;
mod laws;
mod legible;
mod mcp;
mod notes;
mod packs;
mod paging;
mod place;
mod plans;
mod poisoned;
mod power;
mod pressure;
mod privacy;
mod processes;
mod profiles;
mod prompts;
mod proof;
mod released;
mod rendered;
mod researchers;
#[cfg(unix)]
mod runner;
mod schedule;
mod search;
mod search_faces;
mod secrets;
mod sessions;
mod shell;
mod spool;
#[cfg(target_os = "linux")]
mod stalls;
#[cfg(target_os = "linux")]
mod storm;
mod tamper;
mod team;
#[cfg(unix)]
mod terminal;
mod travel;
mod trees;
mod triggers;
mod walls;
mod work;
