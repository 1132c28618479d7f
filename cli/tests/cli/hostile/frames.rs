//! Builds HTTP/2 frames manually, because libraries refuse to send malicious frames.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// Setting for each stream's initial window size.
pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Builds a frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u32;
    let mut frame = length.to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Builds a SETTINGS frame.
pub(crate) fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> =
        settings.iter().flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat()).collect();
    frame(SETTINGS, 0, 0, &payload)
}

/// Builds a header field without indexing (RFC 7541, 6.2.2).
pub(crate) fn header(name: &str, value: &str) -> Vec<u8> {
    let mut header = vec![0];
    for text in [name, value] {
        match text.len() {
            short @ 0..127 => header.push(short as u8),
            long => {
                header.push(127);
                let mut rest = long - 127;
                while rest >= 128 {
                    header.push((rest % 128) as u8 | 128);
                    rest /= 128;
                }
                header.push(rest as u8);
            }
        }
        header.extend(text.as_bytes());
    }
    header
}

/// Builds the header block of a request.
pub(crate) fn request(method: &str, path: &str, token: &str) -> Vec<u8> {
    let authorization = format!("Bearer {token}");
    [
        header(":method", method),
        header(":scheme", "http"),
        header(":path", path),
        header(":authority", "test"),
        header("content-type", "application/grpc"),
        header("te", "trailers"),
        header("authorization", &authorization),
    ]
    .concat()
}

/// Opens a connection, and sends the preface and the settings.
pub(crate) fn connect(address: SocketAddr, own_settings: &[(u16, u32)]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&[PREFACE, &settings(own_settings)].concat()).unwrap();
    stream
}

/// How a connection ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The server closed the connection, possibly after announcing the close.
    Closed,
    /// The connection is still open.
    Open,
}

/// Reads until the server closes the connection or the time limit passes.
pub(crate) fn read_to_end(stream: &mut TcpStream, limit: Duration) -> (End, Vec<u8>) {
    read_until(stream, limit, |_| false)
}

/// Interval between checks while no data arrives.
const LOOK: Duration = Duration::from_millis(100);

/// Reads until `is_enough`, the server closes the connection, or the time limit passes.
pub(crate) fn read_until(stream: &mut TcpStream, limit: Duration, is_enough: impl Fn(&[u8]) -> bool) -> (End, Vec<u8>) {
    let (started, mut received, mut buffer) = (std::time::Instant::now(), Vec::new(), vec![0; 1 << 16]);
    while let Some(left) = limit.checked_sub(started.elapsed()).filter(|left| !left.is_zero()) {
        if is_enough(&received) {
            break;
        }
        stream.set_read_timeout(Some(left.min(LOOK))).unwrap();
        match stream.read(&mut buffer) {
            Ok(0) => return (End::Closed, received),
            Ok(read) => received.extend_from_slice(&buffer[..read]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(_) => return (End::Closed, received),
        }
    }
    (End::Open, received)
}

/// Returns the types of the received frames.
pub(crate) fn kinds(mut received: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    while let [a, b, c, kind, ..] = received {
        let length = 9 + u32::from_be_bytes([0, *a, *b, *c]) as usize;
        kinds.push(*kind);
        received = received.get(length..).unwrap_or_default();
    }
    kinds
}
