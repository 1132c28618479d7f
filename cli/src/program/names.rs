//! The names of a setting: its flag and its variable.

/// The variable of a setting, from the name of its flag.
pub(crate) fn variable(setting: &str) -> String {
    match setting {
        // Other tools know the database by this name.
        "database-url" => "DATABASE_URL".to_owned(),
        _ => format!("COMPLIANCE_{}", setting.replace('-', "_").to_uppercase()),
    }
}

/// A setting in messages, from the name of its flag: `--rest-addr (COMPLIANCE_REST_ADDR)`.
pub(crate) fn named(setting: &str) -> String {
    format!("--{setting} ({})", variable(setting))
}
