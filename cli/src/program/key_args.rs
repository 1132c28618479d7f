//! Loads token keys from their sources, and reloads them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;
use clap::Args;
use compliance_api::{
    PrivateUrl,
    token::{
        AUDIENCE, Audience, COMPANY_CLAIM, ClaimRules, Claims, Fetch, KeyError, KeySource, PERSON_CLAIM, SCOPES,
        Secret, Verifier, issue_for,
    },
};
use flags::duration;
use metrics::{counter, describe_counter, describe_gauge, gauge};
use telemetry::background::{self, Task};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::{
    failure::{InvalidSetting, named},
    key_set,
    process::unix_now,
    secret_values::{Hidden, from_value_or_file},
};

/// Maximum wait after a failed reload. Revoked keys stay in use until a reload succeeds.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);
const FAILURES: &str = "compliance_token_key_refresh_failures_total";
const LOADED: &str = "compliance_token_keys_loaded_timestamp_seconds";

/// Shared secret and issuer, for programs that sign or verify tokens.
#[derive(Args, Clone, Debug)]
pub(crate) struct SigningArgs {
    /// Secret that signs tokens (HS256), at least 32 bytes. Other users of the machine can see flags: prefer the environment
    /// variable or a file.
    #[arg(long = "jwt-secret", env = "COMPLIANCE_JWT_SECRET", hide_env_values = true, value_name = "SECRET")]
    secret: Option<Hidden>,
    /// File with the secret, instead of --jwt-secret.
    #[arg(long, env = "COMPLIANCE_JWT_SECRET_FILE", value_name = "FILE", conflicts_with = "secret")]
    jwt_secret_file: Option<PathBuf>,
    /// Issuer of tokens (`iss`).
    #[arg(long = "jwt-issuer", env = "COMPLIANCE_JWT_ISSUER", value_name = "ISSUER")]
    issuer: Option<String>,
    /// Audience of tokens (`aud`).
    #[arg(long = "jwt-audience", env = "COMPLIANCE_JWT_AUDIENCE", default_value = AUDIENCE, value_name = "NAME")]
    audience: String,
    /// Claim with the company ID, as a number or a string of digits. Specify a name, such as `https://example.com/company`, or the path of
    /// a nested claim, such as `tenant.id`.
    #[arg(long = "jwt-company-claim", env = "COMPLIANCE_JWT_COMPANY_CLAIM", default_value = COMPANY_CLAIM, value_name = "NAME")]
    company_claim: String,
}

impl SigningArgs {
    /// Returns the secret, if given. Fails if the secret is too short or its file cannot be read.
    pub(crate) fn secret(&self) -> Result<Option<Secret>, InvalidSetting> {
        from_value_or_file(self.secret.as_ref(), self.jwt_secret_file.as_ref(), "jwt-secret", Secret::new)
    }

    /// Returns the rules for token claims. Empty values count as unset.
    fn rules(&self) -> ClaimRules {
        let or = |text: &String, default: &str| if text.is_empty() { default } else { text }.to_owned();
        ClaimRules {
            issuer: self.issuer.clone().filter(|issuer| !issuer.is_empty()),
            audience: or(&self.audience, AUDIENCE),
            company: or(&self.company_claim, COMPANY_CLAIM),
            ..ClaimRules::default()
        }
    }

    /// Fails if a given token belongs to a different company. A service would use the token's company.
    pub(crate) fn check_company(&self, token: &str, company: i64) -> Result<(), InvalidSetting> {
        match self.rules().unverified_company(token) {
            Some(other) if other != company => {
                let reason = format!("the token belongs to company {other}, but --company is {company}");
                Err(InvalidSetting::of(named("token"))(reason))
            }
            _ => Ok(()),
        }
    }

    /// Signs a token for the configured issuer and audience.
    pub(crate) fn issue(&self, secret: &Secret, claims: Claims) -> anyhow::Result<String> {
        let ClaimRules { issuer, audience, company, .. } = self.rules();
        let claims = Claims { iss: issuer, aud: Audience::One(audience), ..claims };
        issue_for(secret, &claims, &company).context("cannot sign the token")
    }
}

/// Parses a role and its scopes: `role=scope+scope`.
fn role_scopes(text: &str) -> Result<(String, Vec<String>), String> {
    let known = || format!("must be ROLE=SCOPE+SCOPE, with scopes from this list: {}", SCOPES.join(", "));
    let (role, scopes) = text.rsplit_once('=').filter(|(role, _)| !role.is_empty()).ok_or_else(known)?;
    let scopes: Vec<String> = scopes.split('+').map(str::to_owned).collect();
    if scopes.iter().all(|scope| SCOPES.contains(&scope.as_str())) {
        Ok((role.to_owned(), scopes))
    } else {
        Err(known())
    }
}

/// Keys that verify tokens.
#[derive(Args, Clone, Debug)]
pub(crate) struct KeyArgs {
    #[command(flatten)]
    pub(crate) signing: SigningArgs,
    /// Scopes of roles: ROLE=SCOPE+SCOPE. Tokens contain roles in the claims `roles` (Entra ID) or `realm_access.roles` (Keycloak). Separate multiple
    /// roles with commas, or repeat the flag.
    #[arg(long, env = "COMPLIANCE_JWT_ROLE_SCOPES", value_name = "ROLE=SCOPES", value_delimiter = ',', value_parser = role_scopes)]
    jwt_role_scopes: Vec<(String, Vec<String>)>,
    /// Claim that names the person in the console (as case worker), the record of changes and logs. Choose a text claim that people cannot change
    /// themselves, such as `email` or `profile.name`. If a token lacks this claim, the service uses `sub`.
    #[arg(long, env = "COMPLIANCE_JWT_PERSON_CLAIM", default_value = PERSON_CLAIM, value_name = "NAME")]
    jwt_person_claim: String,
    /// Second secret for verifying tokens (HS256), during a rotation.
    #[arg(long, env = "COMPLIANCE_JWT_SECOND_SECRET", hide_env_values = true, value_name = "SECRET")]
    jwt_second_secret: Option<Hidden>,
    /// File with the second secret, instead of --jwt-second-secret.
    #[arg(long, env = "COMPLIANCE_JWT_SECOND_SECRET_FILE", value_name = "FILE", conflicts_with = "jwt_second_secret")]
    jwt_second_secret_file: Option<PathBuf>,
    /// File with a JSON Web Key Set (RS256, ES256, EdDSA).
    #[arg(long, env = "COMPLIANCE_JWKS_FILE", value_name = "FILE")]
    jwks_file: Option<PathBuf>,
    /// URL of a JSON Web Key Set.
    #[arg(long, env = "COMPLIANCE_JWKS_URL", hide_env_values = true, value_name = "URL")]
    jwks_url: Option<PrivateUrl>,
    /// PEM file with the authorities of an https --jwks-url [default: the system's authorities].
    #[arg(long, env = "COMPLIANCE_JWKS_CA", value_name = "FILE")]
    jwks_ca: Option<PathBuf>,
    /// Interval between reloads of a key set. Until the next reload, the service accepts tokens signed with a revoked key. A token with an unknown
    /// key triggers an immediate reload, at most every 10 s.
    #[arg(long, env = "COMPLIANCE_JWKS_REFRESH", default_value = "5m", value_name = "TIME",
          value_parser = duration(Duration::from_secs(1)..=Duration::from_hours(24)))]
    jwks_refresh: Duration,
}

impl KeyArgs {
    /// Loads the given keys. Fails if no keys are given, a secret is too short, or a key set cannot be loaded.
    pub(crate) async fn verifier(&self) -> anyhow::Result<Arc<Verifier>> {
        let missing = || InvalidSetting::missing("--jwt-secret, --jwks-file or --jwks-url", KeyError::None);
        let (_, verifier) = self.given().await?.ok_or_else(missing)?;
        Ok(verifier)
    }

    /// Loads the given keys, or returns `None` if none are given. Also returns the secret, if given. Otherwise fails like [`Self::verifier`].
    pub(crate) async fn given(&self) -> anyhow::Result<Option<(Option<Secret>, Arc<Verifier>)>> {
        let secret = self.signing.secret()?;
        let (second, file) = (self.jwt_second_secret.as_ref(), self.jwt_second_secret_file.as_ref());
        let second_secret = from_value_or_file(second, file, "jwt-second-secret", Secret::new)?;
        if let Some(path) = &self.jwks_ca {
            key_set::authorities(path).map_err(InvalidSetting::of(named("jwks-ca")))?;
        }
        let url = self.jwks_url.clone().filter(|url| !url.reveal().is_empty());
        if let Some(url) = &url {
            let is_http = url::Url::parse(url.reveal()).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
            let wrong = || format!("{url} does not have the form https://host/path");
            is_http.then_some(()).ok_or_else(wrong).map_err(InvalidSetting::of(named("jwks-url")))?;
        }
        let source = KeySource {
            secret: secret.clone(),
            second_secret,
            jwks_file: self.jwks_file.clone(),
            jwks_url: url.map(|url| (url, key_set::fetch as Fetch)),
            jwks_ca: self.jwks_ca.clone(),
        };
        let token = |secret: &Secret| self.signing.issue(secret, Claims::new(1, 0, 1)).ok();
        if let (Some(first), Some(second)) = (&source.secret, &source.second_secret)
            && token(first) == token(second)
        {
            tracing::warn!("{} equals the first secret, so it has no effect", named("jwt-second-secret"));
        }
        let has_secret = source.secret.is_some() || source.second_secret.is_some();
        if !has_secret && source.jwks_file.is_none() && source.jwks_url.is_none() {
            return Ok(None);
        }
        match Verifier::with_rules(source, self.rules()).await {
            Ok(verifier) => Ok(Some((secret, Arc::new(verifier)))),
            // The key server may become available later.
            Err(error @ KeyError::Fetch { .. }) => Err(error.into()),
            Err(error) => {
                let settings = ["jwks-file", "jwks-url"].map(named).join(" or ");
                Err(InvalidSetting::of(settings)(error).into())
            }
        }
    }

    /// Starts a task that reloads the key sets until the handle is dropped. Returns `None` if the keys cannot change. The task reloads them at
    /// intervals, and when a token has an unknown key. If a reload fails, the previous keys stay in use.
    pub(crate) fn refresh(&self, verifier: &Arc<Verifier>) -> Option<AbortOnDropHandle<()>> {
        let verifier = verifier.can_refresh().then(|| Arc::clone(verifier))?;
        let interval = self.jwks_refresh;
        describe_counter!(FAILURES, "Failed key set reloads.");
        describe_gauge!(LOADED, "Unix time at which the current key sets were loaded.");
        let (failures, loaded) = (counter!(FAILURES), gauge!(LOADED));
        let record = move || loaded.set(unix_now().unwrap_or_default() as f64);
        failures.increment(0);
        record();
        let refresh = move |task: Arc<Task>| {
            let (verifier, failures) = (Arc::clone(&verifier), failures.clone());
            let record = record.clone();
            async move {
                let mut wait = interval;
                loop {
                    let is_asked = timeout(wait, verifier.asked()).await.is_ok();
                    wait = match verifier.refresh().await {
                        Ok(()) => {
                            record();
                            task.succeeded();
                            interval
                        }
                        Err(error) => {
                            failures.increment(1);
                            task.failed(format_args!(
                                "cannot load the key set; the previous keys stay in use: {error}"
                            ));
                            interval.min(RETRY_INTERVAL)
                        }
                    };
                    if is_asked {
                        verifier.answered();
                    }
                }
            }
        };
        Some(AbortOnDropHandle::new(background::spawn("key refresh", refresh)))
    }

    /// Returns the rules for token claims, including persons and roles.
    pub(crate) fn rules(&self) -> ClaimRules {
        let person = if self.jwt_person_claim.is_empty() { PERSON_CLAIM } else { &self.jwt_person_claim };
        ClaimRules { person: person.to_owned(), role_scopes: self.jwt_role_scopes.clone(), ..self.signing.rules() }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn invalid_role_scopes_are_rejected() {
        let scopes = |scopes: &[&str]| scopes.iter().map(|&scope| scope.to_owned()).collect::<Vec<_>>();
        assert_eq!(super::role_scopes("Officer=cases"), Ok(("Officer".to_owned(), scopes(&["cases"]))));
        assert_eq!(super::role_scopes("a=b=audit+erase"), Ok(("a=b".to_owned(), scopes(&["audit", "erase"]))));
        for wrong in ["", "Officer", "Officer=", "=cases", "Officer=cases,audit", "Officer=read", "Officer=cases+"] {
            assert!(super::role_scopes(wrong).is_err(), "{wrong}");
        }
    }
}
