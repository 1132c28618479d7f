//! Attacks over HTTP/1.1, with slow heads, slow bodies, stalled readers and endless heads.

use std::{
    io::Write as _,
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use socket2::{Domain, Socket, Type};

use crate::common::wait_until;

use super::{
    frames::{End, read_to_end},
    world::{PATIENCE, World},
};

/// Connections per attack.
const CONNECTIONS: usize = 50;
/// Pause between two bytes from a slow client.
const PAUSE: Duration = Duration::from_millis(100);

fn open(address: SocketAddr, first: &[u8]) -> Vec<TcpStream> {
    let connect = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(first).unwrap();
        stream
    };
    (0..CONNECTIONS).map(connect).collect()
}

/// Sends a byte on each connection at intervals, until all connections are closed. Returns the data received on each.
fn send_slowly(mut streams: Vec<TcpStream>, byte: u8) -> Vec<Vec<u8>> {
    let (started, mut all) = (Instant::now(), Vec::new());
    while !streams.is_empty() {
        assert!(started.elapsed() < PATIENCE, "{} slow clients are still connected", streams.len());
        thread::sleep(PAUSE);
        streams.retain_mut(|stream| {
            let _ = stream.write_all(&[byte]);
            match read_to_end(stream, Duration::from_millis(1)) {
                (End::Open, received) if received.is_empty() => true,
                (_, received) => {
                    all.push(received);
                    false
                }
            }
        });
    }
    all
}

/// Returns the number of established connections to a port.
fn established(address: SocketAddr) -> usize {
    let (port, established) = (format!(":{:04X}", address.port()), "01");
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let fields = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    fields.filter(|fields| fields[1].ends_with(&port) && fields[3] == established).count()
}

/// Connects a client that has a small receive buffer and never reads.
fn without_reader(address: SocketAddr, request: &[u8]) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&address.into()).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.write_all(request).unwrap();
    stream
}

pub(super) fn attack_all(world: &World) {
    let (rest, ports, token) = (world.service.rest, world.ports(), &world.token);
    world.attack("silent connections", || {
        for address in ports {
            for mut stream in open(address, b"") {
                assert_eq!(read_to_end(&mut stream, PATIENCE).0, End::Closed);
            }
        }
    });
    world.attack("slow heads", || {
        send_slowly(open(rest, b"GET /livez HTTP/1.1\r\nHost: x\r\nX: "), b'x');
    });
    world.attack("slow bodies", || {
        let head = format!(
            "POST /api/urls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 100000\r\n\r\n"
        );
        for received in send_slowly(open(rest, head.as_bytes()), b' ') {
            assert!(received.starts_with(b"HTTP/1.1 504 "), "{:?}", String::from_utf8_lossy(&received));
        }
    });
    world.attack("endless heads", || {
        for mut stream in open(rest, b"GET /livez HTTP/1.1\r\nHost: x\r\n").into_iter().take(10) {
            let line = format!("X: {}\r\n", "x".repeat(8000));
            let sent = (0..1000).take_while(|_| stream.write_all(line.as_bytes()).is_ok()).count();
            assert!(sent < 1000, "the service accepted 8 MB of headers");
        }
    });
    world.attack("stalled readers", || {
        let request = format!("GET /api/affiliates HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n");
        let mut streams: Vec<_> = (0..8).map(|_| without_reader(rest, request.as_bytes())).collect();
        // Other clients use one connection at a time. The system's list changes while the test reads it in parts, so a
        // single read can miss connections.
        wait_until("all stalled readers are disconnected", || (0..3).all(|_| established(rest) <= 1));
        // The system's buffers contain only a part of the list.
        for stream in &mut streams {
            let (ended, received) = read_to_end(stream, PATIENCE);
            assert_eq!(ended, End::Closed);
            let end = String::from_utf8_lossy(&received[received.len().saturating_sub(200)..]);
            assert!(
                !received.ends_with(b"0\r\n\r\n"),
                "the service sent a whole list to a stalled reader: {} bytes, ending in {end}",
                received.len()
            );
        }
    });
}
