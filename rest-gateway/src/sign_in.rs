//! Settings for console sign-in with company accounts.

use clap::{Args, ValueEnum};
use serde::Serialize;
use url::{Host, Url};

/// The OpenID Connect provider whose accounts sign in to the console.
#[derive(Args, Clone, Debug, Serialize)]
pub struct ConsoleSignIn {
    /// Issuer of the OpenID Connect provider for console sign-in, such as `https://login.example/realms/main`. Without an issuer, the
    /// console accepts only tokens.
    #[arg(id = "console-oidc-issuer", long, env = "COMPLIANCE_CONSOLE_OIDC_ISSUER", value_name = "URL", value_parser = issuer,
          requires = "console-oidc-client-id")]
    pub issuer: Option<String>,
    /// Client ID of the console at the provider: a public client with PKCE whose redirect URI is the console's address.
    #[arg(
        id = "console-oidc-client-id",
        long,
        env = "COMPLIANCE_CONSOLE_OIDC_CLIENT_ID",
        value_name = "ID",
        requires = "console-oidc-issuer"
    )]
    pub client_id: Option<String>,
    /// Scopes that the console requests from the provider, separated by spaces. With `offline_access`, most providers issue a
    /// refresh token, and the console renews the sign-in automatically.
    #[arg(id = "console-oidc-scope", long, env = "COMPLIANCE_CONSOLE_OIDC_SCOPE", default_value = "openid", value_name = "SCOPES",
          value_parser = scope)]
    pub scope: String,
    /// Provider token that the console sends to this service: the access token, or the ID token if access tokens are not JSON Web Tokens.
    #[arg(
        id = "console-oidc-bearer",
        long,
        env = "COMPLIANCE_CONSOLE_OIDC_BEARER",
        default_value = "access",
        value_name = "TOKEN"
    )]
    pub token: SentToken,
    /// Origin of the provider's endpoints, such as `https://tokens.example`, if it differs from the issuer's. Separate multiple origins
    /// with commas.
    #[arg(id = "console-oidc-origin", long, env = "COMPLIANCE_CONSOLE_OIDC_ORIGIN", value_name = "ORIGIN", value_delimiter = ',',
          value_parser = origin)]
    #[serde(skip)]
    pub origins: Vec<String>,
}

/// The provider token that the console sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum SentToken {
    /// The access token.
    Access,
    /// The ID token.
    Id,
}

/// The console's settings. They contain no secret.
#[derive(Serialize)]
struct Shown<'a> {
    company_claim: &'a str,
    person_claim: &'a str,
    openid_connect: Option<&'a ConsoleSignIn>,
}

impl ConsoleSignIn {
    /// Returns the console with these settings. `company_claim` and `person_claim` name the token claims with the company and the person.
    pub(crate) fn console(&self, company_claim: &str, person_claim: &str) -> pages::Page {
        let issuer = self.issuer.as_deref().filter(|_| self.client_id.is_some());
        let own = issuer.and_then(|issuer| Some(Url::parse(issuer).ok()?.origin().ascii_serialization()));
        let others = self.origins.iter().filter(|_| issuer.is_some()).cloned();
        let origins: Vec<String> = own.into_iter().chain(others).collect();
        let shown = Shown { company_claim, person_claim, openid_connect: issuer.map(|_| self) };
        let shown = serde_json::to_vec(&shown).unwrap_or_else(|_| b"{}".to_vec());
        pages::console(shown, &origins)
    }
}

/// Parses an issuer (OpenID Connect Discovery 1.0, 3). Tokens contain the same text, so the result is unchanged.
fn issuer(text: &str) -> Result<String, String> {
    let url = safe_url(text)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must not contain a query or a fragment".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses an origin in the form that browsers use.
fn origin(text: &str) -> Result<String, String> {
    let origin = safe_url(text)?.origin().ascii_serialization();
    if origin == text { Ok(origin) } else { Err(format!("must be scheme://host[:port], such as {origin}")) }
}

/// Parses an HTTPS URL, or a URL on this machine, which nobody on the network can intercept. The host becomes part of a browser policy.
fn safe_url(text: &str) -> Result<Url, String> {
    let allowed = "must be an HTTPS URL, such as https://login.example; HTTP is allowed only on this machine";
    let url = Url::parse(text).map_err(|_| allowed.to_owned())?;
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_plain = |host: &str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
    let is_safe = url.scheme() == "https" || url.scheme() == "http" && is_local;
    let has_user = !url.username().is_empty() || url.password().is_some();
    if is_safe && !has_user && url.host_str().is_some_and(is_plain) { Ok(url) } else { Err(allowed.to_owned()) }
}

/// Parses scopes. OpenID Connect requires the `openid` scope.
fn scope(text: &str) -> Result<String, String> {
    let scopes: Vec<&str> = text.split_whitespace().collect();
    if scopes.contains(&"openid") { Ok(scopes.join(" ")) } else { Err("must contain openid".to_owned()) }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header::CONTENT_SECURITY_POLICY};
    use clap::{Args as _, Command};
    use http_body_util::BodyExt as _;

    use super::{ConsoleSignIn, SentToken, issuer, origin, scope};

    #[test]
    fn issuers_and_origins_need_https_or_localhost() {
        for taken in
            ["https://login.example", "https://login.example/realms/main/", "http://127.0.0.1:8", "http://[::1]:8/x"]
        {
            assert_eq!(issuer(taken).as_deref(), Ok(taken));
        }
        for refused in [
            "",
            "login.example",
            "http://login.example",
            "http://127.0.0.1.example",
            "ftp://localhost",
            "https://a@b",
            "https://a;b",
            "https://a?b",
            "https://a#b",
            "https:///",
            "data:,",
        ] {
            assert!(issuer(refused).is_err(), "{refused}");
        }
        assert_eq!(origin("https://tokens.example:8443").as_deref(), Ok("https://tokens.example:8443"));
        for refused in ["*", "https://tokens.example/", "https://TOKENS.example", "https://a 'unsafe-eval'", "http://a"]
        {
            assert!(origin(refused).is_err(), "{refused}");
        }
        assert_eq!(scope(" openid  cases ").as_deref(), Ok("openid cases"));
        assert!(scope("cases").is_err());
    }

    #[test]
    fn issuer_and_client_id_require_each_other() {
        let parse = |given: &str| {
            let command = ConsoleSignIn::augment_args(Command::new("gateway").no_binary_name(true));
            command.try_get_matches_from(given.split_whitespace()).map(drop).map_err(|error| error.to_string())
        };
        let [issuer, client] = ["--console-oidc-issuer https://login.example", "--console-oidc-client-id console"];
        assert_eq!(parse(""), Ok(()));
        assert_eq!(parse(&format!("{issuer} {client}")), Ok(()));
        assert!(parse(issuer).unwrap_err().contains("--console-oidc-client-id"));
        assert!(parse(client).unwrap_err().contains("--console-oidc-issuer"));
    }

    #[tokio::test]
    async fn console_policy_allows_configured_provider() {
        let none = ConsoleSignIn {
            issuer: None,
            client_id: None,
            scope: "openid".to_owned(),
            token: SentToken::Id,
            origins: vec!["https://unused.example".to_owned()],
        };
        let given = ConsoleSignIn {
            issuer: Some("https://login.example/realms/main".to_owned()),
            client_id: Some("console".to_owned()),
            origins: vec!["https://tokens.example".to_owned()],
            ..none.clone()
        };
        let mut tags = Vec::new();
        for (settings, allowed, shown) in [
            (
                none,
                "connect-src 'self'; ",
                r#"{"company_claim":"tenant.id","person_claim":"email","openid_connect":null}"#,
            ),
            (
                given,
                "connect-src 'self' https://login.example https://tokens.example; ",
                r#"{"company_claim":"tenant.id","person_claim":"email","openid_connect":{"issuer":"https://login.example/realms/main","client_id":"console","scope":"openid","token":"id"}}"#,
            ),
        ] {
            let console = settings.console("tenant.id", "email");
            let page = console.respond(&HeaderMap::new());
            let policy = page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert!(policy.contains(allowed), "{policy}");
            tags.push(page.headers()["etag"].clone());
            let file = console.file("sign-in.json", &HeaderMap::new()).unwrap();
            assert_eq!(file.headers()["content-type"], "application/json");
            assert_eq!(file.into_body().collect().await.unwrap().to_bytes(), shown);
        }
        // Browsers keep a cached page's policy, so a new policy needs a new etag.
        assert_ne!(tags[0], tags[1]);
    }
}
