//! The contract of the Affiliate Compliance Service, shared by both layers.
//!
//! Contains the messages and services compiled from `proto/`, the field rules, the error table, tokens and vocabularies.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "the test's runtime aborts its tasks"))]

pub mod batch_read;
pub mod catalogue;
pub mod client;
pub mod country;
pub mod csv_cell;
pub mod description;
pub mod error;
mod id;
pub mod json;
#[cfg(test)]
#[path = "../build/options.rs"]
mod options;
pub mod record;
#[cfg(test)]
#[path = "../build/records.rs"]
mod record_generator;
pub mod rules;
mod secrets;
mod status;
pub mod token;
#[allow(
    missing_docs,
    unused_qualifications,
    unreachable_pub,
    clippy::pedantic,
    clippy::doc_lazy_continuation,
    reason = "generated code has items without comments"
)]
pub mod v1;
pub mod wire;

pub use id::MAX_ID;
pub use secrets::PrivateUrl;
pub use status::{MAX_VIOLATION_BYTES, has_all};

/// The encoded `FileDescriptorSet` of every file under `proto/`, for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// The Cargo profile of this build: `dev`, `release` or `dist`.
pub const BUILD_PROFILE: &str = env!("BUILD_PROFILE");

#[cfg(test)]
mod tests {
    use prost_reflect::DescriptorPool;
    use sha2::{Digest as _, Sha256};

    #[test]
    fn option_numbers_derive_from_their_names() {
        let pool = DescriptorPool::decode(super::FILE_DESCRIPTOR_SET).unwrap();
        let options: Vec<_> = pool.all_extensions().filter(|option| option.package_name() == "compliance.v1").collect();
        assert!(options.len() >= 3, "{options:?}");
        for option in options {
            let [a, b, c, d, ..] = Sha256::digest(option.full_name())[..] else { panic!("a digest has 32 bytes") };
            let digest = u32::from_be_bytes([a, b, c, d]) >> 4;
            assert_eq!(option.number(), (1 << 28) + digest, "{}", option.full_name());
        }
    }
}
