//! Hivemind: one shared, evidence-backed memory for a team of LLM coding agents.

pub mod checkpoints;
pub mod cli;
pub mod client_session;
pub mod clients;
pub mod config;
pub mod doctor;
pub mod domain;
pub mod hooks;
pub mod identity;
pub mod imports;
pub mod integrity;
pub mod ledger;
pub mod mcp;
pub mod pack;
mod private;
pub mod reads;
pub mod runner;
pub mod schedule;
pub mod session_home;
pub mod standing;
pub mod store;
pub mod system;
pub mod tokens;
pub mod trusted;
pub mod views;
pub mod workspace;
pub mod writer;
