//! Runs database servers on the network, with passwords, standbys and failover.

use std::{
    fs,
    net::{SocketAddr, TcpListener},
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use embedded_postgres::Installation;
use nix::{
    sys::signal::Signal,
    unistd::{User, geteuid},
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use crate::{
    DataDir,
    process::{kill_process, output, wait_until},
};

/// All roles except `service` connect without a password.
const ACCESS: &str = "host all service 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n\
                      host replication all 127.0.0.1/32 trust\n";

/// A PostgreSQL server on a loopback port. Dropping it kills the server and removes its data.
#[derive(Debug)]
pub struct NetworkServer {
    folder: DataDir,
    installation: Installation,
    /// The address.
    pub address: SocketAddr,
    server: Option<Child>,
}

impl NetworkServer {
    /// Creates and starts a server with the superuser `postgres`.
    pub async fn start() -> Self {
        let mut server = Self::new().await;
        server.run("initdb", &["--username=postgres", "--auth=trust", "--no-sync", "--pgdata"]);
        fs::write(server.data().join("pg_hba.conf"), ACCESS).unwrap();
        server.restart().await;
        server
    }

    /// Creates and starts a standby of this server.
    pub async fn standby(&self) -> Self {
        let mut standby = Self::new().await;
        let (host, port) = (self.address.ip().to_string(), self.address.port().to_string());
        let from = ["--host", &host, "--port", &port, "--username=postgres"];
        let how = ["--write-recovery-conf", "--checkpoint=fast", "--wal-method=stream", "--no-sync", "--pgdata"];
        standby.run("pg_basebackup", &[&from[..], &how].concat());
        standby.restart().await;
        standby
    }

    async fn new() -> Self {
        let folder = DataDir::new();
        fs::create_dir_all(folder.path()).unwrap();
        if let Some(user) = unprivileged() {
            chown(folder.path(), Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
        }
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        Self { folder, installation: Installation::find(None).await.unwrap(), address, server: None }
    }

    fn data(&self) -> PathBuf {
        self.folder.cluster()
    }

    /// Runs a program with the data folder as its last argument.
    fn run(&self, program: &str, arguments: &[&str]) {
        let (status, _, errors) = output(self.command(program).args(arguments).arg(self.data()));
        assert!(status.success(), "{program}: {errors}");
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.installation.program(program));
        command.current_dir(Path::new("/")).env("LC_ALL", "C").stdin(Stdio::null());
        // PostgreSQL refuses to run as root.
        if let Some(user) = unprivileged() {
            command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
        }
        command
    }

    /// Starts the server at its address.
    pub async fn restart(&mut self) {
        let port = self.address.port().to_string();
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).args(["-p", &port, "-c", "listen_addresses=127.0.0.1"]);
        for setting in ["unix_socket_directories=", "fsync=off", "wal_receiver_status_interval=1s"] {
            command.args(["-c", setting]);
        }
        let log = fs::File::create(self.folder.path().join("log")).unwrap();
        self.server = Some(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
        let start = std::time::Instant::now();
        while PgConnection::connect(&self.url("postgres", "postgres")).await.is_err() {
            assert!(start.elapsed() < crate::process::PATIENCE, "{}", self.log());
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Enables TLS for new connections, with this certificate and key in PEM.
    pub async fn use_certificate(&self, certificate: &str, key: &str) {
        for (name, content) in [("server.crt", certificate), ("server.key", key)] {
            let path = self.data().join(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            if let Some(user) = unprivileged() {
                chown(&path, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
            }
        }
        self.execute("postgres", "alter system set ssl = on").await;
        self.execute("postgres", "select pg_reload_conf()").await;
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// Returns the URL of a database for a `role` or a `role:password`.
    pub fn url(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}@{}/{database}", self.address)
    }

    /// Runs statements as the superuser.
    pub async fn execute(&self, database: &str, statements: &str) {
        let mut connection = PgConnection::connect(&self.url("postgres", database)).await.unwrap();
        // Runs each statement alone, because some cannot run in a transaction.
        for statement in statements.split(';') {
            sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&mut connection).await.unwrap();
        }
    }

    /// Waits until a query returns true.
    pub async fn wait_for(&self, question: &'static str) {
        let mut connection = PgConnection::connect(&self.url("postgres", "postgres")).await.unwrap();
        let start = std::time::Instant::now();
        while !sqlx::query_scalar::<_, bool>(question).fetch_one(&mut connection).await.unwrap() {
            assert!(start.elapsed() < crate::process::PATIENCE, "{question}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Stops or resumes all of the server's processes. Connections to stopped processes stay open, but do not respond.
    pub fn freeze(&self, is_frozen: bool) {
        let server = self.server.as_ref().unwrap().id().cast_signed();
        let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
        let children = children.split_whitespace().map(|child| child.parse().unwrap());
        for process in [server].into_iter().chain(children) {
            kill_process(process, if is_frozen { Signal::SIGSTOP } else { Signal::SIGCONT });
        }
    }

    /// Kills all of the server's processes.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            kill_process(server.id().cast_signed(), Signal::SIGKILL);
            let _ = server.wait();
            // The other processes exit when they notice that their parent is gone.
            let address = self.address;
            wait_until("the server's port is closed", || std::net::TcpStream::connect(address).is_err());
        }
    }
}

impl Drop for NetworkServer {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            kill_process(server.id().cast_signed(), Signal::SIGQUIT);
            let _ = server.wait();
        }
    }
}

/// Returns the user that runs the server, if this process is root.
fn unprivileged() -> Option<User> {
    geteuid().is_root().then(|| User::from_name("nobody").unwrap().unwrap())
}
