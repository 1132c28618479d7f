//! A socket between the service and its database that counts what the service asks for.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    sync::{OwnedRwLockWriteGuard, RwLock},
};

/// A proxy in a folder of its own, which goes with it.
pub(crate) struct Proxy {
    folder: PathBuf,
    round_trips: Arc<AtomicUsize>,
    /// Taken to read by what passes.
    open: Arc<RwLock<()>>,
}

impl Proxy {
    /// Listens, and passes everything on to the server whose socket is `server`.
    pub(crate) fn start(server: PathBuf) -> Self {
        let folder = std::env::temp_dir().join(format!("wire-{}-{:x}", std::process::id(), rand::random::<u32>()));
        std::fs::create_dir(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
        let round_trips = Arc::new(AtomicUsize::new(0));
        let open = Arc::new(RwLock::new(()));
        let (count, gate) = (Arc::clone(&round_trips), Arc::clone(&open));
        tokio::spawn(async move {
            while let Ok((service, _)) = listener.accept().await {
                let database = UnixStream::connect(&server).await.unwrap();
                let (mut from_service, mut to_service) = service.into_split();
                let (mut from_database, mut to_database) = database.into_split();
                tokio::spawn(async move { tokio::io::copy(&mut from_database, &mut to_service).await });
                let (count, gate) = (Arc::clone(&count), Arc::clone(&gate));
                tokio::spawn(async move {
                    let mut first = true;
                    // A start-up message has no type; every other begins with one, and its length counts itself.
                    loop {
                        let kind = if first { None } else { from_service.read_u8().await.ok() };
                        let Ok(length) = from_service.read_u32().await else { return };
                        let mut body = vec![0; length as usize - 4];
                        if from_service.read_exact(&mut body).await.is_err() {
                            return;
                        }
                        // Sync ends what is asked for together; a simple query is asked for alone.
                        if matches!(kind, Some(b'S' | b'Q')) {
                            count.fetch_add(1, Ordering::SeqCst);
                        }
                        let mut message = kind.map_or_else(Vec::new, |kind| vec![kind]);
                        message.extend_from_slice(&length.to_be_bytes());
                        message.extend_from_slice(&body);
                        let _passes = gate.read().await;
                        if to_database.write_all(&message).await.is_err() {
                            return;
                        }
                        // A request for encryption comes before the start-up message and looks like it.
                        first = first && body.len() == 4;
                    }
                });
            }
        });
        Self { folder, round_trips, open }
    }

    /// Lets nothing pass to the database until what is returned is dropped.
    pub(crate) async fn hold(&self) -> OwnedRwLockWriteGuard<()> {
        Arc::clone(&self.open).write_owned().await
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Round trips so far.
    pub(crate) fn round_trips(&self) -> usize {
        self.round_trips.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
