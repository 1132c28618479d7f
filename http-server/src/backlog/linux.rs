//! A packet filter.

use std::io;

use socket2::{SockFilter, SockRef};
use tokio::net::TcpListener;

/// Lets no new connection begin, while those that have begun still arrive: drops the first packet of each new one, which its
/// client sends again a second later, to whichever process listens at the port then.
pub(crate) fn refuse_new_connections(listener: &TcpListener) -> io::Result<()> {
    // The packet begins with the TCP header, whose flags are byte 13.
    const FILTER: [SockFilter; 4] = [
        SockFilter::new(LOAD_BYTE, 0, 0, 13),
        SockFilter::new(JUMP_IF_SET, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ];
    SockRef::from(listener).attach_filter(&FILTER)
}

/// Instructions of the classic Berkeley packet filter (`linux/bpf_common.h`).
const LOAD_BYTE: u16 = 0x30;
const JUMP_IF_SET: u16 = 0x45;
const RETURN: u16 = 0x06;
/// The flag of a packet that begins a connection.
const SYN: u32 = 0x02;

#[cfg(test)]
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
