//! The one implementation of cryptography, whatever others a dependency might bring.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}
