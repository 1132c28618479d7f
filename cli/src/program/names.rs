//! The names of a setting: flag and variable.

/// Returns the variable of a flag.
pub(crate) fn variable(setting: &str) -> String {
    match setting {
        // Other tools know the database by this name.
        "database-url" => "DATABASE_URL".to_owned(),
        _ => format!("COMPLIANCE_{}", setting.replace('-', "_").to_uppercase()),
    }
}

/// Returns a flag and its variable for messages: `--rest-addr (COMPLIANCE_REST_ADDR)`.
pub(crate) fn named(setting: &str) -> String {
    format!("--{setting} ({})", variable(setting))
}
