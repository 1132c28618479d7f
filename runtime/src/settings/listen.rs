//! Addresses to listen at.

use std::net::{SocketAddr, ToSocketAddrs as _};

/// Parses `host:port`, where the host is an address or a name. Of a name's addresses, IPv4 comes first.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let addresses = text.to_socket_addrs().map_err(|_| {
        "must be host:port, such as 127.0.0.1:8080, [::1]:8080 or localhost:8080, and a name must have an address"
            .to_owned()
    })?;
    let mut addresses: Vec<_> = addresses.collect();
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses.first().copied().ok_or_else(|| "is a name without an address".to_owned())
}

#[cfg(test)]
mod tests {
    use super::listen_address;

    #[test]
    fn hosts_are_addresses_or_names() {
        for (text, expected) in
            [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:80", "[::1]:80"), ("localhost:81", "127.0.0.1:81")]
        {
            assert_eq!(listen_address(text).map(|address| address.to_string()), Ok(expected.to_owned()), "{text}");
        }
        for wrong in ["", "8080", "localhost", "localhost:", "localhost:99999", "http://localhost:80", "::1:x"] {
            assert!(listen_address(wrong).is_err(), "{wrong}");
        }
    }
}
