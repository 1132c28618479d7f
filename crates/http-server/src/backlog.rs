//! Closes a listener without losing connections.
//!
//! The system completes connections, queues them, and resets the queue when the listener closes. On Linux, new connections can wait for the
//! next process. On other systems, connections that begin while the listener closes may be reset.

use std::io;

use tokio::net::TcpListener;

/// Refuses new connections. Connections that have begun still arrive.
///
/// A packet filter drops the first packet of each new connection. The client sends it again a second later, to the process that listens then.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "compiled for Linux alone")]
pub(crate) fn refuse_new_connections(listener: &TcpListener) -> io::Result<()> {
    use socket2::{SockFilter, SockRef};
    // Instructions of the classic Berkeley packet filter (`linux/bpf_common.h`).
    const LOAD_BYTE: u16 = 0x30;
    const JUMP_IF_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    /// The flag of a connection's first packet.
    const SYN: u32 = 0x02;
    // Byte 13 of the TCP header has the flags.
    const FILTER: [SockFilter; 4] = [
        SockFilter::new(LOAD_BYTE, 0, 0, 13),
        SockFilter::new(JUMP_IF_SET, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ];
    SockRef::from(listener).attach_filter(&FILTER)
}

/// Fails: this system cannot refuse new connections.
#[cfg(not(target_os = "linux"))]
pub(crate) fn refuse_new_connections(_: &TcpListener) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{
        net::{TcpListener, TcpStream},
        time::timeout,
    };

    use super::refuse_new_connections;

    #[tokio::test]
    async fn a_connection_that_has_begun_arrives_and_no_other_begins() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _begun = TcpStream::connect(address).await.unwrap();
        refuse_new_connections(&listener).unwrap();
        let new = timeout(Duration::from_millis(300), TcpStream::connect(address)).await;
        assert!(new.is_err(), "{new:?}");
        timeout(Duration::from_mins(1), listener.accept()).await.unwrap().unwrap();
    }
}
