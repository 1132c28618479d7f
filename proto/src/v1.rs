//! Messages and services of `compliance.v1`, generated from `proto/`.

tonic::include_proto!("compliance.v1");

include!(concat!(env!("OUT_DIR"), "/checks.rs"));
include!(concat!(env!("OUT_DIR"), "/records.rs"));
