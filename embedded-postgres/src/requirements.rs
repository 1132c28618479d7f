//! What the machine must provide, and where it is looked for.

/// The oldest major version of `PostgreSQL` that is used.
pub const OLDEST_MAJOR: u32 = 15;

/// The environment variable that names the folder of the server programs. If it is set, no other folder is searched.
pub const BIN_DIR_VARIABLE: &str = "COMPLIANCE_POSTGRES_BIN";
