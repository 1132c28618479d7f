//! A private `PostgreSQL` cluster in a data folder: created, started and stopped with `initdb` and `pg_ctl`.
//!
//! It uses the server programs installed on the machine ([`Installation`]), and listens only on a Unix socket in a private folder. There is
//! no password: the server asks the kernel for the caller (`peer`), and accepts root and the user that runs the service. If root runs the
//! service, the database runs as another user. The server does not accept that user, because it may have other processes. That user can own
//! the data folder, so root follows no links there.
//!
//! `docs/operations/data-folder.md` describes the files of the data folder.
//!
//! [`OWNER_ROLE`] owns the service's databases, [`SERVICE_ROLE`] owns nothing, and neither is a superuser; [`ADMIN_ROLE`] is.
//!
//! # Failures
//!
//! - The service is killed, and its database keeps running: the next start stops it and starts it again.
//! - The database is killed: a supervised cluster starts it again, and `PostgreSQL` recovers what was committed.
//! - The process ID in `postmaster.pid` belongs to no process or to another program: the file is removed.
//! - `initdb` was interrupted: only a complete cluster gets the final name, so it is created again.
//! - All processes of the service get `SIGTERM` together: the server keeps its connections until the service closes them, but accepts no new
//!   ones. Signal only the service instead (`KillMode=mixed` in systemd).
//! - A second service starts on the same data folder: it fails, and names the process ID of the first.

mod cluster;
mod endpoint;
mod error;
mod files;
mod install;
mod layout;
mod options;
mod prepare;
mod programs;
mod server;
mod user;

pub use cluster::{Access, Cluster};
pub use endpoint::{ADMIN_ROLE, Endpoint, OWNER_ROLE, SERVICE_ROLE};
pub use error::Error;
pub use install::Installation;
pub use layout::{check_data_dir, has_cluster};
pub use options::ClusterOptions;
