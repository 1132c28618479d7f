//! Defines the fuzz targets. A target panics if a property does not hold.
//!
//! `tools/fuzz/run` runs the targets with libFuzzer, which limits time and memory. The test `replay` runs them without libFuzzer.

mod core;
mod gateway;
mod messages;
mod tables;
mod tokens;

pub use gateway::{json, query};
pub use messages::protobuf;
pub use tables::{csv, xlsx};
pub use tokens::token;

/// A target's name and function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 6] =
    [("json", json), ("query", query), ("token", token), ("csv", csv), ("xlsx", xlsx), ("protobuf", protobuf)];
