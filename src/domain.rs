//! The rules of shared memory, pure: no I/O, no clock, no randomness, no SQL.

pub mod agent;
pub mod claim;
pub mod command;
pub mod decide;
pub mod event;
pub mod ids;
pub mod privacy;
pub mod receipt;
pub mod rejection;
pub mod scope;
pub mod state;
pub mod text;
pub mod time;
