//! Version and commit of this build.

/// Abbreviated commit of this build; empty if the commit is unknown.
pub(crate) const COMMIT: &str = env!("COMPLIANCE_COMMIT");
/// Version, with the commit if it is known.
pub(crate) const VERSION: &str = env!("COMPLIANCE_VERSION");
