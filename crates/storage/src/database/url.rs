//! Parses database URLs. Rejects parameters that would have no effect.

use std::{borrow::Cow, path::PathBuf, str::FromStr as _, time::Duration};

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tls::{ClientTls, IdentityFiles};
use tracing::subscriber::{NoSubscriber, with_default};
use url::form_urlencoded::{self, Serializer};

use super::{error::DatabaseError, target::Target};
use crate::limits::START_TIMEOUT;

/// Maximum `connect_timeout`, in seconds.
const MAX_CONNECT_SECONDS: u64 = 300;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// Parameters passed on to sqlx.
const PASSED: [&str; 15] = [
    "application_name",
    "dbname",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];
/// Names of the parameter for the file with authorities, and of the TLS mode.
const AUTHORITY: [&str; 3] = ["sslrootcert", "ssl-root-cert", "ssl-ca"];
const MODE: [&str; 2] = ["sslmode", "ssl-mode"];
/// Parameters that the service sets itself.
const DECIDED: [&str; 6] = [
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "statement-cache-capacity",
    "tcp_user_timeout",
];

/// Message for a URL with several hosts.
const SEVERAL_HOSTS: &str =
    "contains several hosts: use one endpoint that always leads to the primary (docs/operations/failover.md)";

/// Parses a `postgres://` URL. Errors omit values, because the value of a misspelled `password` is a secret.
pub fn target(url: &str) -> Result<Target, DatabaseError> {
    read(url).map_err(DatabaseError::Url)
}

fn read(url: &str) -> Result<Target, String> {
    // sqlx accepts any scheme. In `user:password@host`, the user would be the scheme, and the database name would contain the password.
    let rest = SCHEMES.iter().find_map(|scheme| url.strip_prefix(scheme)).ok_or("must begin with postgres://")?;
    if rest.contains('#') {
        return Err("contains #, which ends a URL: write it as %23".to_owned());
    }
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = before.split_at(before.find('/').unwrap_or(before.len()));
    if path.contains('@') {
        return Err("the user or password contains /: write it as %2F".to_owned());
    }
    if !authority.contains('@') && query.split('&').next().is_some_and(|first| before_equals(first).contains('@')) {
        return Err("the user or password contains ?: write it as %3F".to_owned());
    }
    let (user, named) = authority.rsplit_once('@').map_or((None, authority), |(user, hosts)| (Some(user), hosts));
    let parameters = Parameters::read(query)?;
    parameters.check_files()?;
    if named.contains(',') {
        return Err(SEVERAL_HOSTS.to_owned());
    }
    // A URL with a user needs a host. The parameter replaces that host.
    let named = if parameters.has_host { "localhost" } else { named };
    let user = user.map_or_else(String::new, |user| format!("{user}@"));
    let rest = Serializer::new(String::new()).extend_pairs(&parameters.passed).finish();
    let url_of_host = format!("postgres://{user}{named}{path}?{rest}");
    // sqlx logs ignored parameters with their values.
    let parsed = with_default(NoSubscriber::default(), || PgConnectOptions::from_str(&url_of_host));
    let options = parsed.map_err(|error| match error {
        sqlx::Error::Configuration(cause) => cause.to_string(),
        other => other.to_string(),
    })?;
    if options.get_database().is_none_or(str::is_empty) {
        return Err("names no database: add its name, such as postgres://user:password@host/compliance".to_owned());
    }
    // sqlx would try to resolve an IPv6 address with its brackets.
    let options = match options.get_host().strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => options.clone().host(address),
        None => options,
    };
    Ok(Target::new(url, options, parameters.connect_timeout, parameters.must_write, parameters.is_named))
}

/// Parameters of a URL.
struct Parameters {
    passed: Vec<(String, String)>,
    has_host: bool,
    connect_timeout: Duration,
    must_write: bool,
    /// Whether the URL sets `application_name`.
    is_named: bool,
}

impl Parameters {
    /// Reads the certificate files as connections do, to detect unusable files at startup.
    fn check_files(&self) -> Result<(), String> {
        let file = |names: &[&str]| {
            let named = self.passed.iter().rfind(|(name, _)| names.contains(&&**name));
            named.map(|(name, path)| (name.as_str(), PathBuf::from(path)))
        };
        let authority = file(&AUTHORITY);
        let identity = match (file(&["sslcert", "ssl-cert"]), file(&["sslkey", "ssl-key"])) {
            (Some((name, certificate)), Some((_, key))) => Some((name, IdentityFiles { certificate, key })),
            (None, None) => None,
            _ => return Err("specify both parameters sslcert and sslkey, or neither".to_owned()),
        };
        if let Some((name, path)) = authority {
            ClientTls::load(Some(path), None).map_err(|error| format!("the parameter {name}: {error}"))?;
        }
        if let Some((name, files)) = identity {
            ClientTls::load(None, Some(files)).map_err(|error| format!("the parameter {name}: {error}"))?;
        }
        Ok(())
    }

    fn read(query: &str) -> Result<Self, String> {
        let mut read = Self {
            passed: Vec::new(),
            has_host: false,
            connect_timeout: START_TIMEOUT,
            must_write: false,
            is_named: false,
        };
        let (mut host, mut address) = (None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match (&*name, &*value) {
                ("host" | "hostaddr" | "port", value) if value.contains(',') => return Err(SEVERAL_HOSTS.to_owned()),
                ("host", value) => host = Some(value.to_owned()),
                ("hostaddr", value) => address = Some(value.to_owned()),
                ("port", value) if value.parse::<u16>().is_err() => {
                    return Err("the parameter port must be a port number".to_owned());
                }
                ("connect_timeout", value) => read.connect_timeout = connect_timeout(value)?,
                ("target_session_attrs", "any")
                | ("load_balance_hosts", "disable")
                | ("gssencmode" | "channel_binding", "disable" | "prefer") => {}
                ("target_session_attrs", "read-write" | "primary") => read.must_write = true,
                (name, _) => {
                    if let Some(reason) = rejection(name, &value) {
                        return Err(format!("the parameter {name} {reason}"));
                    }
                    read.is_named |= name == "application_name";
                    read.passed.push((name.to_owned(), value.into_owned()));
                }
            }
        }
        // In libpq, `require` verifies the certificate if there is an authority. In sqlx, it never does.
        let has_authority = read.passed.iter().any(|(name, _)| AUTHORITY.contains(&&**name));
        for (name, value) in &mut read.passed {
            if has_authority && MODE.contains(&&**name) && value == "require" {
                "verify-ca".clone_into(value);
            }
        }
        // An address takes precedence, because it needs no name lookup.
        if let Some(host) = address.or(host) {
            read.passed.push(("host".to_owned(), host));
            read.has_host = true;
        }
        Ok(read)
    }
}

/// Returns a parameter's name.
fn before_equals(parameter: &str) -> &str {
    parameter.split_once('=').map_or(parameter, |(name, _)| name)
}

/// Returns why a parameter is rejected, or `None` if it is accepted.
fn rejection(name: &str, value: &str) -> Option<Cow<'static, str>> {
    let reason = match (name, value) {
        ("target_session_attrs", "read-only" | "standby" | "prefer-standby") => {
            "asks for a read-only server, but the service writes: use read-write, primary or any"
        }
        ("target_session_attrs", _) => "must be read-write, primary or any",
        ("load_balance_hosts", _) => "must be disable: the service uses one endpoint",
        ("gssencmode" | "channel_binding", _) => "is not supported: use disable or prefer",
        ("sslrootcert" | "ssl-root-cert" | "ssl-ca", "system") => {
            "must be a file with CA certificates in PEM format, such as /etc/ssl/certs/ca-certificates.crt"
        }
        ("sslrootcert" | "ssl-root-cert" | "ssl-ca" | "sslcert" | "ssl-cert" | "sslkey" | "ssl-key", "") => {
            "is empty: set it to a file, or remove it"
        }
        (name, value) if MODE.contains(&name) && PgSslMode::from_str(value).is_err() => {
            "must be disable, allow, prefer, require, verify-ca or verify-full"
        }
        (name, _) if DECIDED.contains(&name) => "has no effect, because the service sets it itself",
        (name, _) if PASSED.contains(&name) || name.starts_with("options[") => return None,
        _ => "is unknown and would have no effect: correct or remove it",
    };
    Some(reason.into())
}

fn connect_timeout(value: &str) -> Result<Duration, String> {
    let seconds = value.parse().ok().filter(|seconds| (1..=MAX_CONNECT_SECONDS).contains(seconds));
    let seconds = seconds.ok_or_else(|| {
        format!("the parameter connect_timeout must be a number of seconds from 1 to {MAX_CONNECT_SECONDS}")
    })?;
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a URL's host and port.
    fn host(url: &str) -> String {
        super::super::error::name(target(url).unwrap().options())
    }

    #[test]
    fn host_comes_from_url_or_parameters() {
        for (url, expected) in [
            ("postgres://u:p@h:1/d?sslmode=disable&application_name=a&options[x]=y&password=a?b", "h:1"),
            ("postgresql://u:p%2C%40@[::1]:3/d?connect_timeout=3", "[::1]:3"),
            ("postgres://u@%2Frun%2Fa:6/d", "/run/a:6"),
            ("postgres://u:p@ignored/d?host=/run/b&port=7", "/run/b:7"),
            ("postgres:///d?host=one&port=1&target_session_attrs=read-write", "one:1"),
            ("postgres://u@h/d?hostaddr=127.0.0.1&host=a", "127.0.0.1:5432"),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
        let of_user = target("postgres://u:p%2C%40@one/d").unwrap();
        assert_eq!((of_user.options().get_username(), of_user.options().get_database()), ("u", Some("d")));
    }

    #[test]
    fn sslmode_require_verifies_given_authority() {
        for (query, expected) in [
            ("sslmode=require&sslrootcert=/f", "verify-ca"),
            ("ssl-ca=/f&ssl-mode=require", "verify-ca"),
            ("sslmode=require", "require"),
            ("sslmode=verify-full&sslrootcert=/f", "verify-full"),
        ] {
            let passed = Parameters::read(query).unwrap().passed;
            let mode = passed.iter().find(|(name, _)| MODE.contains(&&**name)).unwrap();
            assert_eq!(mode.1, expected, "{query}");
        }
    }

    #[test]
    fn multiple_hosts_are_rejected() {
        for url in [
            "postgres://u:p@one,two/d",
            "postgres://one:1,two:2/d",
            "postgres:///d?host=one,two",
            "postgres:///d?hostaddr=127.0.0.1,127.0.0.2",
            "postgres://u@h/d?port=1,2",
        ] {
            let error = target(url).unwrap_err().to_string();
            assert!(error.contains("use one endpoint") && error.contains("failover.md"), "{url}: {error}");
        }
    }

    #[test]
    fn unreadable_urls_keep_previous_target() {
        let latest = |url: &'static str| {
            let again = move || target(url).map_err(|error| error.to_string());
            let latest = target("postgres://u:p@before/d").unwrap().reread_by(again).latest();
            super::super::error::name(latest.options())
        };
        assert_eq!(latest("postgres://u:p@after/d"), "after:5432");
        assert_eq!(latest(""), "before:5432");
    }

    #[test]
    fn invalid_urls_and_parameters_are_rejected() {
        for (url, reason) in [
            ("user:password@host", "postgres://"),
            ("postgres://h/d?pasword=hidden", "the parameter pasword is unknown"),
            ("postgres://h/d?target_session_attrs=standby", "the service writes"),
            ("postgres://h/d?target_session_attrs=best", "must be read-write"),
            ("postgres://h/d?load_balance_hosts=random", "must be disable"),
            ("postgres://h/d?connect_timeout=0", "from 1 to"),
            ("postgres://h/d?connect_timeout=soon", "from 1 to"),
            ("postgres://h/d?statement-cache-capacity=0", "the service sets it itself"),
            ("postgres://h/d?keepalives_idle=9", "the service sets it itself"),
            ("postgres://h/d?channel_binding=require", "use disable or prefer"),
            ("postgres://h/d?sslmode=verify_full", "not valid: the parameter sslmode must be disable, allow"),
            ("postgres://h/d?sslmode=verify-full&sslrootcert=system", "in PEM"),
            ("postgres://h/d?port=x", "port"),
            ("postgres://h:x/d", "port"),
            ("postgres://u:p#x@h/d", "%23"),
            ("postgres://u:hidden/x@h/d", "%2F"),
            ("postgres://u:hidden?x@h/d", "%3F"),
            ("postgres://u:hidden?x@h/d?sslmode=disable", "%3F"),
            ("postgres://h/d?sslrootcert=", "the parameter sslrootcert is empty"),
            ("postgres://h/d?sslrootcert=/nonexistent", "the parameter sslrootcert: cannot read /nonexistent"),
            ("postgres://h/d?sslrootcert=/dev/null", "the parameter sslrootcert: /dev/null"),
            ("postgres://h/d?sslcert=/dev/null&sslkey=/dev/null", "the parameter sslcert: /dev/null"),
            ("postgres://h/d?sslcert=/dev/null", "both parameters"),
            ("postgres://u:hidden@h", "names no database"),
            ("postgres://u:hidden@h/?sslmode=disable", "names no database"),
        ] {
            let error = target(url).unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains("hidden"), "{url}: {error}");
        }
    }
}
