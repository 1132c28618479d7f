//! The fuzz targets. A target panics if a property does not hold.
//!
//! `tools/fuzz/run` runs them under libFuzzer, which limits time and memory. The test `replay` runs them without it.

#[allow(dead_code, reason = "other files use the rest of the reader")]
mod affiliate_files;
mod core;
mod gateway;
mod messages;
mod tokens;

pub use affiliate_files::csv;
pub use gateway::{json, query};
pub use messages::protobuf;
pub use tokens::token;

/// A target and its name.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: [Target; 5] =
    [("json", json), ("query", query), ("token", token), ("csv", csv), ("protobuf", protobuf)];
