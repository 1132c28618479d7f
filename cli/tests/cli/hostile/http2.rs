//! Attacks both ports over HTTP/2, with floods of frames, resets and headers, and with one-byte windows.

use std::{
    io::Write as _,
    net::{Shutdown, SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use super::{
    frames::{
        CONTINUATION, DATA, END_HEADERS, END_STREAM, End, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, PING, RST_STREAM,
        WINDOW_UPDATE, connect, frame, header, kinds, read_to_end, read_until, request, settings,
    },
    world::{PATIENCE, TIME, World},
};

/// Connections per attack.
const CONNECTIONS: usize = 10;

/// Sends pieces repeatedly while reading the responses. Returns how many pieces the server accepted, and whether it closed the connection.
fn flood(stream: &TcpStream, times: usize, mut piece: impl FnMut(usize) -> Vec<u8> + Send) -> (usize, End) {
    let (mut writer, mut reader) = (stream.try_clone().unwrap(), stream.try_clone().unwrap());
    writer.set_write_timeout(Some(PATIENCE)).unwrap();
    thread::scope(|scope| {
        let read = scope.spawn(move || read_to_end(&mut reader, PATIENCE).0);
        let sent = (0..times).take_while(|number| writer.write_all(&piece(*number)).is_ok()).count();
        let _ = writer.shutdown(Shutdown::Write);
        (sent, read.join().unwrap())
    })
}

fn headers(stream: usize, flags: u8, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, flags, stream as u32 * 2 + 1, block)
}

/// Runs every attack on a port. The method and path request the attacking company's long list.
pub(super) fn attack_all(world: &World, address: SocketAddr, (method, list): (&str, &str)) {
    let token = &world.token;
    let get = request(method, list, "none");
    world.attack("preface only", || {
        let streams: Vec<_> = (0..CONNECTIONS).map(|_| connect(address, &[])).collect();
        for mut stream in streams {
            let (end, received) = read_to_end(&mut stream, PATIENCE);
            assert_eq!((end, kinds(&received).contains(&GOAWAY)), (End::Closed, true));
        }
    });
    world.attack("endless headers", || {
        for _ in 0..CONNECTIONS {
            let mut stream = connect(address, &[]);
            stream.write_all(&headers(0, END_STREAM, &get)).unwrap();
            let block = header("x", &"x".repeat(8000));
            let (sent, end) = flood(&stream, 10_000, |_| frame(CONTINUATION, 0, 1, &block));
            assert!(sent < 10_000, "the service accepted 80 MB of headers");
            assert_eq!(end, End::Closed);
        }
    });
    world.attack("empty CONTINUATION frames", || {
        let mut stream = connect(address, &[]);
        stream.write_all(&headers(0, END_STREAM, &get)).unwrap();
        let piece = frame(CONTINUATION, 0, 1, b"").repeat(1000);
        let (sent, end) = flood(&stream, 2000, |_| piece.clone());
        assert!(sent < 2000 && end == End::Closed, "{sent} {end:?}");
    });
    world.attack("rapid reset", || {
        let stream = connect(address, &[]);
        let cancel = 8_u32.to_be_bytes();
        flood(&stream, 10_000, |number| {
            let reset = frame(RST_STREAM, 0, number as u32 * 2 + 1, &cancel);
            [headers(number, END_HEADERS | END_STREAM, &get), reset].concat()
        });
    });
    world.attack("settings flood", || {
        let stream = connect(address, &[]);
        let piece = settings(&[(0xfff0, 1); 500]);
        flood(&stream, 5000, |_| piece.clone());
    });
    world.attack("unread pings", || {
        let mut stream = connect(address, &[]);
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let piece = frame(PING, 0, 0, b"pingpong").repeat(1000);
        // The responses fill the system's buffers, so the service stops reading.
        let sent = (0..10_000).take_while(|_| stream.write_all(&piece).is_ok()).count();
        assert!(sent < 10_000, "the service accepted 10,000,000 pings");
    });
    world.attack("one-byte windows", || {
        let get = request(method, list, token);
        let mut streams: Vec<_> = (0..CONNECTIONS).map(|_| connect(address, &[(INITIAL_WINDOW_SIZE, 0)])).collect();
        for stream in &mut streams {
            for number in 0..20 {
                let whole = if method == "GET" { END_HEADERS | END_STREAM } else { END_HEADERS };
                stream.write_all(&headers(number, whole, &get)).unwrap();
                if method == "POST" {
                    // An empty message.
                    let message = frame(DATA, END_STREAM, number as u32 * 2 + 1, &[0; 5]);
                    stream.write_all(&message).unwrap();
                }
            }
        }
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(100));
            for stream in &mut streams {
                for number in 0..20 {
                    let one = 1_u32.to_be_bytes();
                    let _ = stream.write_all(&frame(WINDOW_UPDATE, 0, number * 2 + 1, &one));
                }
            }
        }
    });
    world.attack("endless streams", || {
        let mut stream = connect(address, &[]);
        let open = request("POST", list, token);
        for number in 0..3000 {
            if stream.write_all(&headers(number, END_HEADERS, &open)).is_err() {
                break;
            }
        }
        let is_refused = |kind: &u8| [RST_STREAM, HEADERS, GOAWAY].contains(kind);
        let opened = Instant::now();
        let (_, received) = read_until(&mut stream, PATIENCE, |received| {
            opened.elapsed() > TIME && kinds(received).iter().any(is_refused)
        });
        assert!(kinds(&received).iter().any(is_refused), "the service keeps 3,000 streams open");
    });
}
