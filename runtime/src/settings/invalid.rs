//! Settings that turn out to be wrong after the command line was parsed.

use std::{error::Error, fmt};

/// A setting that cannot be used. The program ends with status 2, as after a wrong command line.
#[derive(Debug)]
pub struct InvalidSetting {
    setting: &'static str,
    verb: &'static str,
    cause: Box<dyn Error + Send + Sync>,
}

impl InvalidSetting {
    /// Names the setting by its flag and variable, such as `--rest-addr (COMPLIANCE_REST_ADDR)`.
    pub fn of<E: Into<Box<dyn Error + Send + Sync>>>(setting: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self { setting, verb: "is wrong", cause: cause.into() }
    }

    /// A setting that must be given, with what it may be.
    pub fn missing<E: Into<Box<dyn Error + Send + Sync>>>(setting: &'static str, allowed: E) -> Self {
        Self { setting, verb: "is required", cause: allowed.into() }
    }
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.setting, self.verb, self.cause)
    }
}

impl Error for InvalidSetting {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}
