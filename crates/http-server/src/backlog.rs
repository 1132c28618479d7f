//! The end of a listener: no connection that a client believes to be open is lost.
//!
//! The system completes connections alone and queues them, and it resets what is queued when the listener closes. Linux
//! can leave new ones to the next process instead; elsewhere, those that begin while the listener closes may be reset.

use std::io;

use tokio::net::TcpListener;

/// Lets no new connection begin, while those that have begun still arrive: a packet filter drops the first packet of each new
/// one, which its client sends again a second later, to whichever process listens at the port then.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "compiled for Linux alone")]
pub(crate) fn refuse_new_connections(listener: &TcpListener) -> io::Result<()> {
    use socket2::{SockFilter, SockRef};
    // Instructions of the classic Berkeley packet filter (`linux/bpf_common.h`).
    const LOAD_BYTE: u16 = 0x30;
    const JUMP_IF_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    /// The flag of a packet that begins a connection.
    const SYN: u32 = 0x02;
    // The packet begins with the TCP header, whose flags are byte 13.
    const FILTER: [SockFilter; 4] = [
        SockFilter::new(LOAD_BYTE, 0, 0, 13),
        SockFilter::new(JUMP_IF_SET, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ];
    SockRef::from(listener).attach_filter(&FILTER)
}

/// Would let no new connection begin; this system cannot.
#[cfg(not(target_os = "linux"))]
pub(crate) fn refuse_new_connections(_: &TcpListener) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::time::Duration;

    use tokio::{
        net::{TcpListener, TcpStream},
        time::timeout,
    };

    use super::refuse_new_connections;

    #[tokio::test]
    async fn what_has_begun_arrives_and_nothing_new_begins() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let _begun = TcpStream::connect(address).await.unwrap();
        refuse_new_connections(&listener).unwrap();
        let new = timeout(Duration::from_millis(300), TcpStream::connect(address)).await;
        assert!(new.is_err(), "{new:?}");
        timeout(Duration::from_mins(1), listener.accept()).await.unwrap().unwrap();
    }
}
