//! Settings, as flags with environment twins.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use compliance_api::token::{KeySource, Secret, SecretError};

use crate::access::RateLimit;

/// How tokens are verified.
#[derive(Args, Clone, Default)]
pub struct TokenArgs {
    /// Secret that tokens are signed with (HS256), at least 32 bytes.
    #[arg(long = "jwt-secret", env = "COMPLIANCE_JWT_SECRET", hide_env_values = true, value_name = "SECRET")]
    pub secret: Option<String>,
    /// File with a JSON Web Key Set (RS256, ES256, EdDSA).
    #[arg(long, env = "COMPLIANCE_JWKS_FILE", value_name = "FILE")]
    pub jwks_file: Option<PathBuf>,
    /// Address of a JSON Web Key Set.
    #[arg(long, env = "COMPLIANCE_JWKS_URL", value_name = "URL")]
    pub jwks_url: Option<String>,
    /// Issuer that tokens must name.
    #[arg(long = "jwt-issuer", env = "COMPLIANCE_JWT_ISSUER", value_name = "ISSUER")]
    pub issuer: Option<String>,
}

impl std::fmt::Debug for TokenArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenArgs")
            .field("jwks_file", &self.jwks_file)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

impl TokenArgs {
    /// Where the keys come from.
    pub fn key_source(&self) -> Result<KeySource, SecretError> {
        let secret = self.secret.as_deref().filter(|secret| !secret.is_empty());
        Ok(KeySource {
            secret: secret.map(|secret| Secret::new(secret.as_bytes())).transpose()?,
            jwks_file: self.jwks_file.clone(),
            jwks_url: self.jwks_url.clone(),
        })
    }
}

/// How the core serves.
#[derive(Args, Clone, Debug)]
pub struct CoreArgs {
    /// Address that gRPC is served at.
    #[arg(long, env = "COMPLIANCE_GRPC_ADDR", default_value = "127.0.0.1:50051", value_name = "ADDR")]
    pub grpc_addr: SocketAddr,
    /// Requests that a company may make: N/s, N/m or off.
    #[arg(long, env = "COMPLIANCE_RATE_LIMIT", default_value = "1000/s", value_name = "LIMIT")]
    pub rate_limit: RateLimit,
    /// Connections to the database, at most.
    #[arg(long, env = "COMPLIANCE_DATABASE_CONNECTIONS", default_value_t = 16, value_name = "N",
          value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub database_connections: u32,
    /// Calls that are answered at the same time, at most; more are refused as overload.
    #[arg(long, env = "COMPLIANCE_MAX_IN_FLIGHT", default_value_t = 4096, value_name = "N")]
    pub max_in_flight: usize,
    /// Seconds that a call may take when its caller sets no shorter deadline.
    #[arg(long, env = "COMPLIANCE_CALL_TIMEOUT", default_value_t = 30, value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub call_timeout: u64,
    /// Seconds that a whole streamed list may take, its reader's pauses included.
    #[arg(long, env = "COMPLIANCE_LIST_TIMEOUT", default_value_t = 600, value_name = "SECONDS",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub list_timeout: u64,
    /// Bytes that one message may have, at most.
    #[arg(long, env = "COMPLIANCE_MESSAGE_LIMIT", default_value_t = 64 << 20, value_name = "BYTES")]
    pub message_limit: usize,
}

impl CoreArgs {
    /// How long a call may take.
    pub fn call_timeout(&self) -> Duration {
        Duration::from_secs(self.call_timeout)
    }

    /// How long a whole streamed list may take.
    pub fn list_timeout(&self) -> Duration {
        Duration::from_secs(self.list_timeout)
    }
}
