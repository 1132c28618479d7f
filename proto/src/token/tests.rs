//! Tests which tokens and keys the verifier accepts, by the rules of RFC 8725 (JWT best practices), 7515 (signatures), 7517 (keys),
//! 7518 (algorithms) and 7519 (claims).

mod claims;
mod explain;
mod headers;
mod issuers;
mod keys;
mod refresh;
mod signers;
mod unknown_keys;
