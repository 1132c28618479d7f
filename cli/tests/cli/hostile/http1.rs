//! HTTP/1.1: slow heads, slow bodies, clients that do not read, and endless heads.

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

/// Connections of each attack.
const CONNECTIONS: usize = 50;
/// The pause between two bytes of a slow client.
const PAUSE: Duration = Duration::from_millis(100);

fn open(address: SocketAddr, first: &[u8]) -> Vec<TcpStream> {
    let connect = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(first).unwrap();
        stream
    };
    (0..CONNECTIONS).map(connect).collect()
}

/// Sends a byte on each connection from time to time, until all are closed. Returns the received data of each.
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

/// The connections of a port that neither side has closed.
fn established(address: SocketAddr) -> usize {
    let (port, established) = (format!(":{:04X}", address.port()), "01");
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let fields = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    fields.filter(|fields| fields[1].ends_with(&port) && fields[3] == established).count()
}

/// A client that does not read, and whose system buffers little for it.
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
    world.attack("heads without an end", || {
        for mut stream in open(rest, b"GET /livez HTTP/1.1\r\nHost: x\r\n").into_iter().take(10) {
            let line = format!("X: {}\r\n", "x".repeat(8000));
            let sent = (0..1000).take_while(|_| stream.write_all(line.as_bytes()).is_ok()).count();
            assert!(sent < 1000, "8 MB of headers were taken");
        }
    });
    world.attack("readers that do not read", || {
        let request = format!("GET /api/affiliates HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n");
        let mut streams: Vec<_> = (0..8).map(|_| without_reader(rest, request.as_bytes())).collect();
        // Other clients have one connection at a time. The system's list changes while it is read in parts, so one reading can miss
        // connections.
        wait_until("all readers are cut off", || (0..3).all(|_| established(rest) <= 1));
        // The part of the list in the system's buffers does not have the end of a list.
        for stream in &mut streams {
            let (ended, received) = read_to_end(stream, PATIENCE);
            assert_eq!(ended, End::Closed);
            let end = String::from_utf8_lossy(&received[received.len().saturating_sub(200)..]);
            assert!(
                !received.ends_with(b"0\r\n\r\n"),
                "a list was sent although nobody read it in time: {} bytes that end with {end}",
                received.len()
            );
        }
    });
}
