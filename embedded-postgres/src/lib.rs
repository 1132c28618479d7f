//! A private `PostgreSQL` cluster in a data folder: created, started, supervised, recovered and stopped.
//!
//! The service stores its data in `PostgreSQL`. Operators without a server of their own get one that belongs to the
//! service alone. It uses the server programs installed on the machine ([`Installation`]), keeps everything in one data
//! folder, and listens only on a Unix socket in a private folder.
//!
//! ```no_run
//! # async fn example() -> Result<(), embedded_postgres::Error> {
//! use embedded_postgres::{Cluster, ClusterOptions};
//!
//! let cluster = Cluster::start(ClusterOptions::new("/var/lib/compliance")).await?;
//! cluster.create_database("compliance").await?;
//! let _pool_options = cluster.endpoint().connect_options("compliance");
//! cluster.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # The data folder
//!
//! | name               | content                                                                |
//! |--------------------|------------------------------------------------------------------------|
//! | `postgres/`        | the cluster, mode 0700, owned by the user that the database runs as    |
//! | `postgres.new-*/`  | a cluster being created; the next start removes an incomplete one      |
//! | `postgres.log`     | the server's log; `postgres.log.1` is the previous one                 |
//! | `postgres.hba`     | who may connect; written at each start                                 |
//! | `postgres.ident`   | which user may be which role; written at each start                    |
//! | `postgres.lock`    | locked (`flock`) by the process that runs the cluster, with its ID     |
//!
//! # Who may connect
//!
//! There is no password and no network port. The socket's folder is inaccessible to other users, and the server asks the
//! kernel for the caller (`peer`): it accepts the user that runs the service, and root. A service that root started runs its
//! database as another user, which is not accepted: other processes of that user may be anybody's. The rules are in a file
//! that this user cannot change.
//!
//! [`OWNER_ROLE`] owns the service's databases, [`SERVICE_ROLE`] owns nothing, and neither is a superuser; [`ADMIN_ROLE`] is.
//!
//! # Started as root
//!
//! `PostgreSQL` refuses to run as root, so the cluster then belongs to, and runs as, another user: its owner, the owner of the
//! data folder, the user `compliance`, or `nobody`, the first of these that exists and is not root. That user must be able to
//! reach the data folder; see [`check_data_dir`]. It may own the data folder, so root follows no links there: a file that is a
//! link, or belongs to somebody else, is refused.
//!
//! # Failures
//!
//! - The service is killed and its database keeps running: the next start takes it over.
//! - The database is killed: a supervised cluster restarts it, and `PostgreSQL` recovers what was committed.
//! - The process ID in `postmaster.pid` belongs to no process or to another program: the file is removed.
//! - `initdb` was interrupted: only a complete cluster gets the final name, so it is created again.
//! - All processes of the service get `SIGTERM` at once: the server keeps its connections until the service closes them,
//!   but accepts no new ones. Better signal only the service (`KillMode=mixed` in systemd).
//! - A second service on the same data folder: refused, with the process ID of the first.

mod cluster;
mod context;
mod endpoint;
mod error;
mod initdb;
mod install;
mod launch;
mod layout;
mod log_file;
mod options;
mod orphan;
mod process;
mod run;
mod safe_file;
mod server;
mod settings;
mod supervise;
mod user;

pub use cluster::{Access, Cluster};
pub use endpoint::{ADMIN_ROLE, Endpoint, OWNER_ROLE, SERVICE_ROLE};
pub use error::Error;
pub use install::Installation;
pub use layout::{check_data_dir, has_cluster};
pub use options::ClusterOptions;
pub use settings::ServerSettings;
