//! Runs a webhook receiver: HTTPS on this machine, with its own certificate authority.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use core_server::WebhookSettings;
use hmac::{Hmac, KeyInit as _, Mac as _};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use serde_json::Value;
use sha2::Sha256;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use crate::{DataDir, webhooks};

const PATIENCE: Duration = Duration::from_mins(1);

/// A received message.
#[derive(Clone, Debug)]
pub struct Received {
    /// The request path, without a query.
    pub path: String,
    headers: HashMap<String, String>,
    /// The raw body.
    pub body: String,
}

impl Received {
    /// Returns a header.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("the header {name} is missing: {:?}", self.headers))
    }

    /// Returns the body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns the positions of the message's changes.
    pub fn positions(&self) -> Vec<i64> {
        let json = self.json();
        json["data"]["changes"].as_array().unwrap().iter().map(|change| change["position"].as_i64().unwrap()).collect()
    }

    /// Returns whether one of the signatures uses this secret. Does not use the service's code.
    pub fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        mac.update(
            format!("{}.{}.{}", self.header("webhook-id"), self.header("webhook-timestamp"), self.body).as_bytes(),
        );
        let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        self.header("webhook-signature").split(' ').any(|signature| signature == expected)
    }
}

/// How the receiver responds to messages.
#[derive(Clone, Debug)]
pub enum Reaction {
    /// Responds with this status and any additional headers. A 200 response contains an endless body.
    Respond(&'static str),
    /// Does not respond until notified.
    Hang(Arc<Notify>),
    /// Accepts messages of at most this many bytes, and responds to larger messages with 413.
    AtMost(usize),
    /// Sends an endless header, one byte at a time.
    Drip,
    /// Sends headers endlessly, as fast as possible.
    EndlessHead,
}

impl Reaction {
    /// Accepts messages.
    pub const OK: Self = Self::Respond("204 No Content");
}

#[derive(Debug)]
struct State {
    received: Mutex<Vec<Received>>,
    reaction: Mutex<Reaction>,
    /// Reactions for single paths.
    reactions: Mutex<HashMap<String, Reaction>>,
    arrived: Notify,
}

/// A webhook receiver.
#[derive(Debug)]
pub struct WebhookReceiver {
    state: Arc<State>,
    /// The port on `localhost`.
    pub port: u16,
    folder: DataDir,
}

impl WebhookReceiver {
    /// Starts the receiver on a free port, with a certificate for `localhost`.
    pub async fn start() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = DataDir::new();
        std::fs::create_dir_all(folder.path()).unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            received: Mutex::default(),
            reaction: Mutex::new(Reaction::OK),
            reactions: Mutex::default(),
            arrived: Notify::new(),
        });
        let serving = Arc::clone(&state);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(acceptor.clone(), stream, Arc::clone(&serving)));
            }
        });
        Self { state, port, folder }
    }

    /// Returns the file with the receiver's CA certificate.
    pub fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Returns settings for a core that delivers to this receiver.
    pub fn settings(&self) -> WebhookSettings {
        WebhookSettings { ca: Some(self.ca()), ..webhooks(true) }
    }

    /// Returns the URL for a webhook.
    pub fn url(&self) -> String {
        format!("https://localhost:{}/changes", self.port)
    }

    /// Sets the reaction to the next messages.
    pub fn react(&self, reaction: Reaction) {
        *self.state.reaction.lock().unwrap() = reaction;
    }

    /// Sets the reaction for a path, and returns a URL with the path.
    pub fn react_at(&self, path: &str, reaction: Reaction) -> String {
        self.state.reactions.lock().unwrap().insert(path.to_owned(), reaction);
        format!("https://localhost:{}{path}", self.port)
    }

    /// Returns the received messages.
    pub fn received(&self) -> Vec<Received> {
        self.state.received.lock().unwrap().clone()
    }

    /// Waits until at least this number of messages has arrived, and returns all of them.
    pub async fn wait_for(&self, messages: usize) -> Vec<Received> {
        let waiting = async {
            loop {
                let arrived = self.state.arrived.notified();
                let received = self.received();
                if received.len() >= messages {
                    return received;
                }
                arrived.await;
            }
        };
        timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("only received {:?}", self.received()))
    }
}

/// Reads one request from a connection.
async fn serve(acceptor: TlsAcceptor, stream: TcpStream, state: Arc<State>) -> Option<()> {
    let mut stream = acceptor.accept(stream).await.ok()?;
    let mut bytes = Vec::new();
    let (head, path, length) = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let path = head.split([' ', '?']).nth(1).unwrap_or_default().to_owned();
            let lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
            let headers: HashMap<String, String> =
                lines.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
            let length: usize = headers["content-length"].parse().unwrap();
            break ((headers, head.len() + 4), path, length);
        }
    };
    let (headers, start) = head;
    while bytes.len() < start + length {
        stream.read_buf(&mut bytes).await.ok()?;
    }
    let body = String::from_utf8(bytes[start..].to_vec()).unwrap();
    let reaction = state.reactions.lock().unwrap().get(&path).cloned();
    let reaction = reaction.unwrap_or_else(|| state.reaction.lock().unwrap().clone());
    state.received.lock().unwrap().push(Received { path, headers, body });
    state.arrived.notify_waiters();
    let head = match reaction {
        Reaction::Respond(head) => head,
        Reaction::AtMost(most) if length > most => "413 Payload Too Large",
        Reaction::AtMost(_) => "204 No Content",
        Reaction::Drip | Reaction::EndlessHead => {
            stream.write_all(b"HTTP/1.1 204 No Content\r\nx: ").await.ok()?;
            loop {
                let part: &[u8] = if matches!(reaction, Reaction::Drip) { b"x" } else { b"x\r\nx: " };
                stream.write_all(part).await.ok()?;
                stream.flush().await.ok()?;
                if matches!(reaction, Reaction::Drip) {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
        Reaction::Hang(go_on) => {
            go_on.notified().await;
            "204 No Content"
        }
    };
    let is_endless = head.starts_with("200");
    let length = if is_endless { "transfer-encoding: chunked" } else { "content-length: 0" };
    let response = format!("HTTP/1.1 {head}\r\n{length}\r\nconnection: close\r\n\r\n");
    stream.write_all(response.as_bytes()).await.ok()?;
    if is_endless {
        loop {
            stream.write_all(b"1000\r\n").await.ok()?;
            stream.write_all(&[b'x'; 0x1000]).await.ok()?;
            stream.write_all(b"\r\n").await.ok()?;
        }
    }
    stream.shutdown().await.ok()
}
