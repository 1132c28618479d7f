//! Implements a proxy that can delay, cut and count messages between two parts of the service.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::{OwnedRwLockWriteGuard, RwLock, watch},
    task::AbortHandle,
};

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// Parts of the statements that check the database's state every second.
const STATE: [&str; 2] = ["pg_is_in_recovery()", "is_database_known()"];

/// A proxy that listens until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    address: SocketAddr,
    /// The server for new connections of a TCP proxy.
    server: Arc<Mutex<SocketAddr>>,
    /// A database proxy's socket folder.
    folder: Option<PathBuf>,
    accepting: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    /// Each message to the server takes a read lock while it passes.
    open: Arc<RwLock<()>>,
    /// The number of cuts so far.
    cuts: watch::Sender<usize>,
    /// The number of silences so far.
    silences: watch::Sender<usize>,
    /// Whether new connections receive no response.
    mute: AtomicBool,
    /// A text, and how many more statements with this text lose their response.
    lost_answers: Mutex<Option<(String, usize)>>,
    connections: AtomicUsize,
    /// The number of oldest connections that close at their next use.
    forgotten: AtomicUsize,
    round_trips: AtomicUsize,
}

/// Delays all messages to the server until it is dropped.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "held for its drop")] OwnedRwLockWriteGuard<()>);

/// How to split clients' bytes into messages.
#[derive(Clone, Copy)]
enum Protocol {
    /// Does not split them.
    Bytes,
    /// Splits them into PostgreSQL messages, to count round trips.
    PostgreSql,
}

impl Proxy {
    /// Starts a proxy for a TCP server, on a free port.
    pub async fn tcp(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Shared::new();
        let state = Arc::clone(&shared);
        let server = Arc::new(Mutex::new(server));
        let current = Arc::clone(&server);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = *current.lock().unwrap();
                // If the server is unreachable, the client's connection closes immediately.
                let Ok(server) = TcpStream::connect(server).await else { continue };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let client = (Box::new(from_client) as Reader, Box::new(to_client) as Writer);
                state.connect(client, (Box::new(from_server), Box::new(to_server)), Protocol::Bytes);
            }
        });
        Self { shared, address, server, folder: None, accepting: accepting.abort_handle() }
    }

    /// Starts a proxy for the PostgreSQL server with the socket `server`.
    ///
    /// The proxy listens on a socket with the same name in its own folder.
    pub fn postgresql(server: PathBuf) -> Self {
        let folder = std::env::temp_dir().join(format!("proxy-{}-{:x}", std::process::id(), rand::random::<u32>()));
        std::fs::create_dir(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
        let shared = Shared::new();
        let state = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = UnixStream::connect(&server).await else { continue };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                let client = (Box::new(from_client) as Reader, Box::new(to_client) as Writer);
                state.connect(client, (Box::new(from_server), Box::new(to_server)), Protocol::PostgreSql);
            }
        });
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        let server = Arc::new(Mutex::new(address));
        Self { shared, address, server, folder: Some(folder), accepting: accepting.abort_handle() }
    }

    /// Returns a TCP proxy's address.
    pub fn address(&self) -> SocketAddr {
        assert!(self.folder.is_none(), "a database proxy has a folder instead of an address");
        self.address
    }

    /// Routes a TCP proxy's new connections to a different server, and closes open connections.
    pub fn lead_to(&self, server: SocketAddr) {
        *self.server.lock().unwrap() = server;
        self.cut();
    }

    /// Returns the folder with a database proxy's socket.
    pub fn folder(&self) -> &Path {
        self.folder.as_deref().expect("a TCP proxy has an address instead of a folder")
    }

    /// Delays all bytes from clients until the returned value is dropped.
    pub async fn hold(&self) -> Held {
        Held(Arc::clone(&self.shared.open).write_owned().await)
    }

    /// Closes every open connection, but accepts new connections.
    pub fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Closes every open connection when its client sends something, like a router that has lost its state.
    pub fn forget(&self) {
        self.shared.forgotten.store(self.connections(), Ordering::SeqCst);
    }

    /// Blocks open connections in both directions without closing them, like a network that has lost a host.
    ///
    /// New connections work if `failover` is true, and are silent otherwise.
    pub fn silence(&self, failover: bool) {
        self.shared.mute.store(!failover, Ordering::SeqCst);
        self.shared.silences.send_modify(|silences| *silences += 1);
    }

    /// Makes new connections work again.
    pub fn speak(&self) {
        self.shared.mute.store(false, Ordering::SeqCst);
    }

    /// Executes the next statement that contains `statement`, but cuts its connection before the response.
    pub fn lose_answer_to(&self, statement: &str) {
        self.lose_answers_to(statement, 1);
    }

    /// Like [`Self::lose_answer_to`], for several statements.
    pub fn lose_answers_to(&self, statement: &str, count: usize) {
        *self.shared.lost_answers.lock().unwrap() = Some((statement.to_owned(), count));
    }

    /// Returns whether all these responses have been lost.
    pub fn has_lost_answer(&self) -> bool {
        self.shared.lost_answers.lock().unwrap().is_none()
    }

    /// Returns the number of connections accepted so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns the number of round trips to the database so far, excluding checks of the database's state.
    pub fn round_trips(&self) -> usize {
        self.shared.round_trips.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            open: Arc::default(),
            cuts: watch::Sender::new(0),
            silences: watch::Sender::new(0),
            mute: AtomicBool::new(false),
            lost_answers: Mutex::default(),
            connections: AtomicUsize::new(0),
            forgotten: AtomicUsize::new(0),
            round_trips: AtomicUsize::new(0),
        })
    }

    /// Relays a connection in both directions until a side closes it or the proxy cuts it.
    fn connect(self: &Arc<Self>, client: (Reader, Writer), server: (Reader, Writer), protocol: Protocol) {
        let number = self.connections.fetch_add(1, Ordering::SeqCst);
        let ((from_client, to_server), (from_server, to_client)) = ((client.0, server.1), (server.0, client.1));
        let (state, mut cuts, mut silences) = (Arc::clone(self), self.cuts.subscribe(), self.silences.subscribe());
        let mute = self.mute.load(Ordering::SeqCst);
        tokio::spawn(async move {
            let lost = AtomicBool::new(false);
            let requests = async {
                match protocol {
                    Protocol::Bytes => state.relay_bytes(number, from_client, to_server).await,
                    Protocol::PostgreSql => state.relay_messages(from_client, to_server, &lost).await,
                }
            };
            // One direction can end earlier. Both end with this task.
            let relayed = async { tokio::join!(requests, relay_answers(from_server, to_client, &lost)) };
            let silent = async {
                if !mute {
                    let _ = silences.changed().await;
                }
            };
            tokio::pin!(relayed, silent);
            tokio::select! {
                // A silent connection relays nothing.
                biased;
                _ = cuts.changed() => {}
                // The connection stays open, without relaying anything, until the proxy cuts it.
                () = &mut silent => {
                    let _ = cuts.changed().await;
                }
                _ = &mut relayed => {}
            }
        });
    }

    async fn relay_bytes(&self, number: usize, mut from: Reader, mut to: Writer) -> io::Result<()> {
        let mut buffer = vec![0; 16 << 10];
        loop {
            let read = from.read(&mut buffer).await?;
            if read == 0 || number < self.forgotten.load(Ordering::SeqCst) {
                return to.shutdown().await;
            }
            let _passes = self.open.read().await;
            to.write_all(&buffer[..read]).await?;
        }
    }

    /// Returns whether to lose the response to a statement.
    fn is_lost(&self, statement: &str) -> bool {
        let mut lost = self.lost_answers.lock().unwrap();
        let Some((_, left)) = lost.as_mut().filter(|(wanted, _)| statement.contains(wanted.as_str())) else {
            return false;
        };
        *left -= 1;
        if *left == 0 {
            *lost = None;
        }
        true
    }

    async fn relay_messages(&self, mut from: Reader, mut to: Writer, lost: &AtomicBool) -> io::Result<()> {
        let mut first = true;
        // The connection's prepared statements by name, the statement to execute, and the COPY in progress.
        let (mut statements, mut bound, mut copied) = (HashMap::new(), String::new(), String::new());
        // Every message except the startup message begins with a type. The length includes itself.
        loop {
            let kind = if first { None } else { Some(from.read_u8().await?) };
            let length = from.read_u32().await?;
            let mut body = vec![0; length as usize - 4];
            from.read_exact(&mut body).await?;
            match kind {
                Some(b'P') => {
                    let (name, rest) = text(&body);
                    statements.insert(name, text(rest).0);
                }
                Some(b'B') => bound = statements.get(&text(text(&body).1).0).cloned().unwrap_or_default(),
                // Sync ends a group of messages, and a simple query stands alone. A COPY runs after its last row.
                Some(kind @ (b'S' | b'Q' | b'c')) => {
                    let executed = match kind {
                        b'Q' => text(&body).0,
                        b'c' => std::mem::take(&mut copied),
                        _ => std::mem::take(&mut bound),
                    };
                    let counts = kind != b'c' && !STATE.iter().any(|state| executed.contains(state));
                    self.round_trips.fetch_add(usize::from(counts), Ordering::SeqCst);
                    if kind == b'Q' && executed.starts_with("copy ") {
                        copied = executed;
                    } else if self.is_lost(&executed) {
                        lost.store(true, Ordering::SeqCst);
                    }
                }
                _ => {}
            }
            let mut message = kind.map_or_else(Vec::new, |kind| vec![kind]);
            message.extend_from_slice(&length.to_be_bytes());
            message.extend_from_slice(&body);
            let _passes = self.open.read().await;
            to.write_all(&message).await?;
            // A TLS request precedes the startup message, and also has no type.
            first = first && body.len() == 4;
        }
    }
}

/// Relays the server's messages. To lose a response, closes the connection when the first bytes arrive, after the
/// statement has been committed.
async fn relay_answers(mut from: Reader, mut to: Writer, lost: &AtomicBool) -> io::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 || lost.load(Ordering::SeqCst) {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
    }
}

/// Splits a message at its first NUL. Returns the text before it, and the rest.
fn text(message: &[u8]) -> (String, &[u8]) {
    let end = message.iter().position(|byte| *byte == 0).unwrap_or(message.len());
    (String::from_utf8_lossy(&message[..end]).into_owned(), message.get(end + 1..).unwrap_or_default())
}
