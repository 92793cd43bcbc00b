//! The rules of shared memory, pure: no I/O, no clock, no randomness, no SQL.

pub mod action;
pub mod agent;
mod antonyms;
pub mod backfill;
mod candidates;
pub mod claim;
pub mod clean;
pub mod command;
pub mod confidence;
pub mod decide;
pub mod event;
pub mod experiment;
pub mod ids;
pub mod pairs;
pub mod plan;
pub mod privacy;
pub mod ranking;
pub mod receipt;
pub mod rejection;
pub mod relevance;
pub mod scope;
pub mod session;
pub mod state;
mod stop_words;
pub mod text;
pub mod time;
pub mod tokens;
