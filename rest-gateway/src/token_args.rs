//! Where the keys of tokens come from, as flags.

use std::path::PathBuf;

use compliance_api::token::{KeySource, Secret, SecretError};

/// Verification of tokens as flags, each with its twin in the environment.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "Tokens")]
pub struct TokenArgs {
    /// Shared secret of HS256 tokens, at least 32 bytes. Better given in the environment than as a flag.
    #[arg(long, env = "COMPLIANCE_JWT_SECRET", hide_env_values = true)]
    pub jwt_secret: Option<String>,
    /// File with a JSON Web Key Set (RS256, ES256, EdDSA).
    #[arg(long, env = "COMPLIANCE_JWKS_FILE", hide_env_values = true)]
    pub jwks_file: Option<PathBuf>,
    /// Address of a JSON Web Key Set.
    #[arg(long, env = "COMPLIANCE_JWKS_URL", hide_env_values = true)]
    pub jwks_url: Option<String>,
    /// Who must have made the tokens (`iss`).
    #[arg(long, env = "COMPLIANCE_JWT_ISSUER", hide_env_values = true)]
    pub jwt_issuer: Option<String>,
}

impl TokenArgs {
    /// The keys to load. An empty value is none, as in `COMPLIANCE_JWKS_URL=`.
    pub fn key_source(&self) -> Result<KeySource, SecretError> {
        let secret = self.jwt_secret.as_deref().filter(|secret| !secret.is_empty());
        Ok(KeySource {
            secret: secret.map(Secret::new).transpose()?,
            jwks_file: self.jwks_file.clone().filter(|path| !path.as_os_str().is_empty()),
            jwks_url: self.jwks_url.clone().filter(|url| !url.is_empty()),
        })
    }

    /// The issuer that tokens must name, if any.
    pub fn issuer(&self) -> Option<String> {
        self.jwt_issuer.clone().filter(|issuer| !issuer.is_empty())
    }
}
