//! The keys of tokens.

use std::{path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use compliance_api::{
    PrivateUrl,
    token::{KeyError, KeySource, Secret, Verifier},
};
use tokio_util::task::AbortOnDropHandle;

use super::{Hidden, InvalidSetting, secret_file::read_secret, units::duration};

/// The shared secret and the issuer of tokens: for programs that sign tokens, and for those that verify them.
#[derive(Args, Clone, Debug)]
pub struct SigningArgs {
    /// Secret that signs tokens (HS256), at least 32 bytes. Prefer the environment variable or a file to the flag.
    #[arg(long = "jwt-secret", env = "COMPLIANCE_JWT_SECRET", hide_env_values = true, value_name = "SECRET")]
    secret: Option<Hidden>,
    /// File with the secret, instead of --jwt-secret.
    #[arg(long, env = "COMPLIANCE_JWT_SECRET_FILE", value_name = "FILE", conflicts_with = "secret")]
    jwt_secret_file: Option<PathBuf>,
    /// Issuer of tokens (`iss`).
    #[arg(long = "jwt-issuer", env = "COMPLIANCE_JWT_ISSUER", value_name = "ISSUER")]
    issuer: Option<String>,
}

impl SigningArgs {
    /// The secret, if one is given. Fails if it is too short, or if its file cannot be read.
    pub fn secret(&self) -> Result<Option<Secret>, InvalidSetting> {
        if let Some(file) = self.jwt_secret_file.as_deref().filter(|file| !file.as_os_str().is_empty()) {
            let name = "--jwt-secret-file (COMPLIANCE_JWT_SECRET_FILE)";
            let secret = read_secret(file).map_err(InvalidSetting::of(name))?;
            return Secret::new(secret).map(Some).map_err(InvalidSetting::of(name));
        }
        let secret = self.secret.as_ref().and_then(Hidden::filled).map(Secret::new).transpose();
        secret.map_err(InvalidSetting::of("--jwt-secret (COMPLIANCE_JWT_SECRET)"))
    }

    /// The issuer, if one is given.
    pub fn issuer(&self) -> Option<String> {
        self.issuer.clone().filter(|issuer| !issuer.is_empty())
    }
}

/// The keys that tokens are verified with.
#[derive(Args, Clone, Debug)]
pub struct KeyArgs {
    #[command(flatten)]
    signing: SigningArgs,
    /// File with a JSON Web Key Set (RS256, ES256, EdDSA).
    #[arg(long, env = "COMPLIANCE_JWKS_FILE", value_name = "FILE")]
    jwks_file: Option<PathBuf>,
    /// URL of a JSON Web Key Set.
    #[arg(long, env = "COMPLIANCE_JWKS_URL", hide_env_values = true, value_name = "URL")]
    jwks_url: Option<Hidden>,
    /// Time after which a key set is loaded again. Tokens of a revoked key are accepted until then.
    #[arg(long, env = "COMPLIANCE_JWKS_REFRESH", default_value = "5m", value_name = "TIME",
          value_parser = duration(Duration::from_secs(1)..=Duration::from_hours(24)))]
    jwks_refresh: Duration,
}

impl KeyArgs {
    /// Where the keys come from, or `None` if nothing is given. Fails if the secret is too short.
    fn source(&self) -> Result<Option<KeySource>, InvalidSetting> {
        let source = KeySource {
            secret: self.signing.secret()?,
            jwks_file: self.jwks_file.clone(),
            jwks_url: self.jwks_url.as_ref().and_then(Hidden::filled).map(|url| PrivateUrl::from(url.to_owned())),
        };
        let given = source.secret.is_some() || source.jwks_file.is_some() || source.jwks_url.is_some();
        Ok(given.then_some(source))
    }

    /// Loads the keys that are given. Fails if there are none, if the secret is too short, or if a key set cannot be loaded.
    pub async fn verifier(&self) -> anyhow::Result<Arc<Verifier>> {
        let none = KeyError::None;
        self.given()
            .await?
            .map(|(_, verifier)| verifier)
            .ok_or_else(|| InvalidSetting::missing("--jwt-secret, --jwks-file or --jwks-url", none).into())
    }

    /// Loads the keys that are given, if any. Returns the secret, too. Fails like [`Self::verifier`].
    pub async fn given(&self) -> anyhow::Result<Option<(Option<Secret>, Arc<Verifier>)>> {
        let Some(source) = self.source()? else { return Ok(None) };
        let secret = source.secret.clone();
        match Verifier::new(source, self.issuer()).await {
            Ok(verifier) => Ok(Some((secret, Arc::new(verifier)))),
            // It may be available later.
            Err(error @ KeyError::Fetch { .. }) => Err(error.into()),
            Err(error) => {
                Err(InvalidSetting::of("--jwks-file (COMPLIANCE_JWKS_FILE) or --jwks-url (COMPLIANCE_JWKS_URL)")(error)
                    .into())
            }
        }
    }

    /// Starts a task that loads the key sets again and again, until the handle is dropped.
    pub fn refresh(&self, verifier: &Arc<Verifier>) -> Option<AbortOnDropHandle<()>> {
        crate::keys::refresh(verifier, self.jwks_refresh)
    }

    /// The issuer that tokens must name, if any.
    pub fn issuer(&self) -> Option<String> {
        self.signing.issuer()
    }
}
