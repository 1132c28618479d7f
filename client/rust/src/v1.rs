//! The contract's messages and plain service clients, generated from `proto/`.
#![allow(
    missing_docs,
    unused_qualifications,
    clippy::pedantic,
    clippy::doc_lazy_continuation,
    clippy::large_enum_variant,
    reason = "generated: the generators add items without comments"
)]

tonic::include_proto!("compliance.v1");
include!(concat!(env!("OUT_DIR"), "/requests.rs"));
