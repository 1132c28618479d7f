//! Which build this is.

/// The commit that the program was built from, shortened; empty if it was not built from a checkout.
pub(crate) const COMMIT: &str = env!("COMPLIANCE_COMMIT");
/// The version, and the commit if it is known.
pub(crate) const VERSION: &str = env!("COMPLIANCE_VERSION");
