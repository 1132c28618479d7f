//! Resolves endpoint names and decides which addresses cores can connect to.

use std::{io, net::IpAddr};

use hickory_resolver::{ResolverBuilder, TokioResolver};
use ipnet::IpNet;

/// Reasons why a name has no address, as shown to the endpoint's owner.
const UNKNOWN: &str = "the host has no address";
const UNANSWERED: &str = "the host's name servers did not respond";

/// Resolves a name to its addresses.
///
/// Each lookup reads `/etc/hosts` and `/etc/resolv.conf`, and opens its own connections. A silent name server neither delays other lookups
/// nor blocks a thread. A lookup ends when its caller stops waiting.
pub(super) async fn look_up(name: &str) -> io::Result<Vec<IpAddr>> {
    let resolver = TokioResolver::builder_tokio().and_then(ResolverBuilder::build).map_err(io::Error::other)?;
    match resolver.lookup_ip(name).await {
        Ok(found) => Ok(found.iter().collect()),
        Err(error) if error.is_no_records_found() => Err(io::Error::new(io::ErrorKind::NotFound, UNKNOWN)),
        Err(error) => {
            tracing::debug!(%error, name, "cannot resolve a webhook host");
            Err(io::Error::other(UNANSWERED))
        }
    }
}

/// Networks within IPv4 and [`PUBLIC_V6`] that are not on the internet: IANA's special-purpose registries, multicast, and IPv6 addresses
/// that map to IPv4.
const SPECIAL: &str = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 \
    192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 \
    224.0.0.0/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20";
const PUBLIC_V6: &str = "2000::/3";

/// Networks that cores connect to: the internet, and networks that the operator allows.
#[derive(Clone, Debug)]
pub(super) struct Networks {
    special: Vec<IpNet>,
    public_v6: Vec<IpNet>,
    allowed: Vec<IpNet>,
}

impl Networks {
    pub(super) fn new(allowed: &[IpNet]) -> Self {
        let parse = |text: &str| text.split(' ').filter_map(|network| network.parse().ok()).collect();
        Self { special: parse(SPECIAL), public_v6: parse(PUBLIC_V6), allowed: allowed.to_vec() }
    }

    pub(super) fn allow(&self, address: IpAddr) -> bool {
        // An IPv6 address can embed an IPv4 address.
        let address = address.to_canonical();
        let is_in = |networks: &[IpNet]| networks.iter().any(|network| network.contains(&address));
        is_in(&self.allowed) || (address.is_ipv4() || is_in(&self.public_v6)) && !is_in(&self.special)
    }
}

#[cfg(test)]
mod tests {
    use super::{Networks, SPECIAL};

    #[test]
    fn only_public_and_allowed_addresses_are_accepted() {
        let networks = Networks::new(&["10.1.0.0/16".parse().unwrap(), "fd00::/8".parse().unwrap()]);
        assert_eq!(networks.special.len(), SPECIAL.split(' ').count());
        let allow = |address: &str| networks.allow(address.parse().unwrap());
        for public in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "198.20.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(allow(public), "{public}");
        }
        for allowed in ["10.1.2.3", "::ffff:10.1.2.3", "fd12::1"] {
            assert!(allow(allowed), "{allowed}");
        }
        for refused in [
            "0.0.0.0",
            "10.2.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.31.255.255",
            "192.0.0.8",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!allow(refused), "{refused}");
        }
    }
}
