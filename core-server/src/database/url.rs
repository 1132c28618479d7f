//! The URL of a database, which may hold a password.

use std::str::FromStr as _;

use sqlx::postgres::PgConnectOptions;
use tracing::subscriber::{NoSubscriber, with_default};

use super::DatabaseError;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// The parameters of a URL that have an effect, apart from those of the session, `options[name]`.
const PARAMETERS: [&str; 18] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
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
    "statement-cache-capacity",
    "user",
];

/// Reads a `postgres://` URL. Parameters without an effect are logged by name: the value of a misspelt `password` is one.
pub fn options(url: &str) -> Result<PgConnectOptions, DatabaseError> {
    // sqlx takes any scheme. In `user:password@host`, the scheme is the user, and the name of the database has the password.
    if !SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
        return Err(DatabaseError::Url("it must begin with postgres://".to_owned()));
    }
    // sqlx logs such parameters with their values.
    let options = with_default(NoSubscriber::default(), || PgConnectOptions::from_str(url));
    let options = options.map_err(|error| DatabaseError::Url(error.to_string()))?;
    for name in unknown_parameters(url) {
        tracing::warn!(name, "the database URL has a parameter without an effect");
    }
    Ok(options)
}

fn unknown_parameters(url: &str) -> Vec<String> {
    let query = url.split_once('?').map_or("", |(_, query)| query).split('#').next().unwrap_or_default();
    let names = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, _)| name.to_owned());
    names.filter(|name| !PARAMETERS.contains(&name.as_str()) && !name.starts_with("options[")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_with_an_effect_are_known() {
        let known = "postgres://u:p@h:1/d?sslmode=disable&application_name=a&options[x]=y&password=a?b";
        assert_eq!(unknown_parameters(known), [""; 0]);
        assert_eq!(unknown_parameters("postgres://h/d?pasword=p&user=u&x=#y=z"), ["pasword", "x"]);
        assert!(options(known).is_ok() && options("user:password@host").is_err());
    }
}
