//! A private `PostgreSQL` cluster in a data folder, managed with `initdb` and `pg_ctl`.
//!
//! The cluster uses the server programs installed on the machine ([`Installation`]), and listens only on a Unix socket in a private folder. It
//! uses no passwords. Instead, the kernel identifies the caller (`peer`), and the server accepts root and the user that runs the service.
//!
//! If root runs the service, the database runs as another user. The server rejects that user, because other processes may run as that user. The
//! user can own the data folder, so root does not follow links there.
//!
//! `docs/operations/data-folder.md` describes the data folder's files.
//!
//! [`OWNER_ROLE`] owns the service's databases. [`SERVICE_ROLE`] owns nothing. Only [`ADMIN_ROLE`] is a superuser.
//!
//! # Failures
//!
//! - If the service is killed, its database keeps running. The next start stops and restarts it.
//! - If the database is killed, a supervised cluster restarts it, and `PostgreSQL` recovers all committed data.
//! - If no process, or a different program, has the process ID in `postmaster.pid`, the next start removes the file.
//! - If `initdb` is interrupted, the next start creates the cluster again. Only a complete cluster receives the final name.
//! - If all of the service's processes receive `SIGTERM` together, the server keeps existing connections until the service closes them, but accepts
//!   no new ones. Signal only the service instead (`KillMode=mixed` in systemd).
//! - If a second service starts on the same data folder, it fails and reports the process ID of the first.

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
