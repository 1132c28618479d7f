//! Sends large bodies and decompression bombs. Measures the whole process's memory use, with its own allocator.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use flate2::{Compression, write::GzEncoder};

use super::world::{PATIENCE, World};
use crate::common::token;

/// Maximum growth of the process, in KiB.
const MOST: u64 = 512 << 10;
/// Companies that send large bodies, and the total number of bodies.
const COMPANIES: i64 = 12;
const BODIES: usize = 36;
/// Slightly less than the maximum body size, in bytes.
const LARGE: usize = 31 << 20;
/// A request's name, headers and body.
type Form = (&'static str, String, Vec<u8>);

/// Returns a body that the service reads completely, then rejects because of its content.
fn body(bytes: usize) -> Vec<u8> {
    [&br#"{"urls":[],"x":""#[..], &vec![b'x'; bytes], b"\"}"].concat()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn with_length(name: &'static str, headers: &str, body: Vec<u8>) -> Form {
    (name, format!("{headers}Content-Length: {}\r\n", body.len()), body)
}

/// Sends a body on its own connection, and returns the response status.
fn send(rest: SocketAddr, token: &str, (name, headers, body): &Form) -> u16 {
    let mut stream = TcpStream::connect(rest).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "POST /api/urls HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The service does not need to read the rest of a rejected body.
    let _ = stream.write_all(body);
    let mut received = Vec::new();
    let _ = stream.read_to_end(&mut received);
    let status = received.get(9..12).and_then(|status| str::from_utf8(status).ok()?.parse().ok());
    status.unwrap_or_else(|| panic!("{name}: {:?}", String::from_utf8_lossy(&received)))
}

/// Sends more bodies than fit in memory, in every form.
pub(super) fn large() {
    let plain = body(LARGE);
    let chunks =
        plain.chunks(50_000).map(|chunk| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
    let chunked = [chunks.collect::<Vec<_>>().concat(), b"0\r\n\r\n".to_vec()].concat();
    for form in [
        with_length("large bodies in gzip", "Content-Encoding: gzip\r\n", gzip(&plain)),
        ("large bodies in chunks", "Transfer-Encoding: chunked\r\n".to_owned(), chunked),
        with_length("large bodies with a length", "", plain),
    ] {
        // Start a new process each time, because the allocator can keep freed memory.
        let world = World::with_body_timeout("10m");
        let rest = world.service.rest;
        let tokens: Vec<_> = (100..100 + COMPANIES).map(|company| token(&world.data, company)).collect();
        let refused = AtomicUsize::new(0);
        world.attack_within(MOST, form.0, || {
            thread::scope(|scope| {
                for number in 0..BODIES {
                    let (token, form, refused) = (&tokens[number % tokens.len()], &form, &refused);
                    scope.spawn(move || match send(rest, token, form) {
                        422 => {}
                        429 | 503 => _ = refused.fetch_add(1, Relaxed),
                        status => panic!("{}: {status}", form.0),
                    });
                }
            });
        });
        assert!(refused.into_inner() > 0, "{}: all bodies fit in memory", form.0);
        // The service reads a single body completely.
        assert_eq!(send(rest, &tokens[0], &form), 422, "{}", form.0);
    }
}

/// Sends 100 kB of gzip that decompress to 100 MiB, repeatedly from one company.
pub(super) fn decompression_bombs() {
    let world = World::with_body_timeout("10m");
    let (rest, token) = (world.service.rest, world.token.as_str());
    let form = with_length("", "Content-Encoding: gzip\r\n", gzip(&body(100 << 20)));
    assert!(form.2.len() < 120_000, "{}", form.2.len());
    for connections in [4, 8] {
        world.attack_within(MOST, &format!("{connections} decompression bombs"), || {
            thread::scope(|scope| {
                for _ in 0..connections {
                    scope.spawn(|| {
                        let status = send(rest, token, &form);
                        assert!([413, 429].contains(&status), "{status}");
                    });
                }
            });
        });
    }
    assert_eq!(send(rest, token, &form), 413);
}
