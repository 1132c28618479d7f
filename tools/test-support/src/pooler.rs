//! Runs `PgBouncer` between a service and its database.

use std::{
    env, fs,
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::{
        fs::{MetadataExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use nix::{sys::signal::Signal, unistd::geteuid};

use crate::{
    DataDir,
    process::{kill_process, wait_until},
};

/// Environment variable with the path of a `PgBouncer` 1.21 or newer, for all services of a test program with one database server.
const GIVEN: &str = "COMPLIANCE_TEST_PGBOUNCER";

/// A running `PgBouncer` on a loopback port. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Pooler {
    address: SocketAddr,
    /// Removed with the pooler.
    _folder: DataDir,
    process: Child,
}

impl Pooler {
    /// Returns the program that the environment names.
    pub(crate) fn given() -> Option<PathBuf> {
        env::var_os(GIVEN).filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// Starts a pooler that connects to a server as this role.
    ///
    /// `settings` are lines of its `[pgbouncer]` section. If this process is root, the pooler runs as the server folder's owner.
    pub(crate) fn start(program: &Path, server: &str, role: &str, settings: &str, server_folder: &Path) -> Self {
        let folder = DataDir::new();
        fs::create_dir_all(folder.path()).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (users, file) = (folder.path().join("users"), folder.path().join("pgbouncer.ini"));
        fs::write(&users, format!("\"{role}\" \"\"\n")).unwrap();
        let (port, users_shown) = (address.port(), users.display());
        let configuration = format!(
            "[databases]\n* = {server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = trust\nauth_file = {users_shown}\nadmin_users = postgres\n{settings}\n"
        );
        fs::write(&file, configuration).unwrap();
        let mut command = Command::new(program);
        command.arg("-q").arg(&file).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(folder.path().join("log")).unwrap());
        if geteuid().is_root() {
            let owner = fs::metadata(server_folder).unwrap();
            let (uid, gid) = (owner.uid(), owner.gid());
            for path in [folder.path(), &users, &file] {
                chown(path, Some(uid), Some(gid)).unwrap();
            }
            command.uid(uid).gid(gid);
        }
        let pooler = Self { address, process: command.spawn().unwrap(), _folder: folder };
        wait_until("PgBouncer listens", || TcpStream::connect(address).is_ok());
        pooler
    }

    /// Returns the URL of a database behind the pooler.
    pub(crate) fn url(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@{}/{database}?sslmode=disable", self.address)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        kill_process(self.process.id().cast_signed(), Signal::SIGKILL);
        let _ = self.process.wait();
    }
}
