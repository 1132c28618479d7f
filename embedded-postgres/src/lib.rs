//! A private `PostgreSQL` cluster in a data folder: found, made, started, recovered and stopped.
//!
//! The service keeps its data in `PostgreSQL`. An operator with a server of their own gives its address; for everyone
//! else this library runs one that belongs to the service alone. It uses the server programs installed on the machine
//! ([`Installation`]), keeps everything in one data folder, and listens on a Unix socket in a private directory only.
//!
//! ```no_run
//! # async fn example() -> Result<(), embedded_postgres::Error> {
//! use embedded_postgres::{Cluster, ClusterOptions};
//!
//! let cluster = Cluster::start(ClusterOptions::new("/var/lib/compliance")).await?;
//! cluster.create_database("compliance").await?;
//! let _pool_options = cluster.connect_options("compliance");
//! cluster.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What lies in the data folder
//!
//! | name               | what it is                                                             |
//! |--------------------|------------------------------------------------------------------------|
//! | `postgres/`        | the cluster, mode 0700, owned by the user the database runs as         |
//! | `postgres.new-*/`  | a cluster being made; one left by an interruption is removed at a start |
//! | `postgres.log`     | the server's log; `postgres.log.1` is the one before                   |
//! | `postgres.lock`    | held (`flock`) by the process that runs the cluster, with its number   |
//!
//! # Who may connect
//!
//! There is no password and no network port. The socket's directory is closed to other users, and the server asks the
//! kernel who is calling (`peer`): the user that runs the service, the user the database runs as, and root are let in.
//! The service's role, [`SERVICE_ROLE`], owns its databases and is no superuser; [`ADMIN_ROLE`] is.
//!
//! # Started as root
//!
//! `PostgreSQL` refuses to run as root, so the cluster then belongs to, and runs as, another user: its present owner, the
//! owner of the data folder, or `nobody`, the first of these that is not root. That user must be able to reach the data
//! folder; see [`check_data_dir`].
//!
//! # What can go wrong, and what is done
//!
//! - The service is killed and its database lives on: the next start takes the running database over.
//! - The database is killed: a supervised cluster starts it again; `PostgreSQL` recovers what was committed.
//! - A process number left in `postmaster.pid` belongs to nobody or to another program: it is set aside.
//! - `initdb` was interrupted: the cluster appears under its name only when complete, so it is simply made again.
//! - All processes of the service's group are told to end (`SIGTERM`) at once: the server keeps its connections until the
//!   service closes them, but takes no new ones. Better that only the service is told (`KillMode=mixed` in systemd).
//! - A second service on the same data folder: refused, with the number of the first one's process.

mod access;
mod cluster;
mod context;
mod endpoint;
mod error;
mod initdb;
mod install;
mod launch;
mod layout;
mod log_file;
mod orphan;
mod process;
mod run;
mod server;
mod settings;
mod supervise;
mod user;

pub use access::Access;
pub use cluster::{Cluster, ClusterOptions, Timeouts};
pub use endpoint::{ADMIN_ROLE, Endpoint, SERVICE_ROLE};
pub use error::Error;
pub use install::{BIN_DIR_VARIABLE, Installation, OLDEST_MAJOR};
pub use settings::{Durability, Settings};
pub use user::check_data_dir;
