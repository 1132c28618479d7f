//! Lookups of names. They take no thread while name servers are silent, and end when nobody waits for them any more.

use std::{io, net::IpAddr};

use hickory_resolver::{ResolverBuilder, TokioResolver};

/// Why a name has no address, for the owner of the endpoint.
const UNKNOWN: &str = "the host has no address";
const UNANSWERED: &str = "the name servers of the host have not responded";

/// Looks up the addresses of a name. Each lookup reads `/etc/hosts` and `/etc/resolv.conf` and has its own connections, so that silent name
/// servers delay no other lookup.
pub(super) async fn look_up(name: &str) -> io::Result<Vec<IpAddr>> {
    let resolver = TokioResolver::builder_tokio().and_then(ResolverBuilder::build).map_err(io::Error::other)?;
    match resolver.lookup_ip(name).await {
        Ok(found) => Ok(found.iter().collect()),
        Err(error) if error.is_no_records_found() => Err(io::Error::new(io::ErrorKind::NotFound, UNKNOWN)),
        Err(error) => {
            tracing::debug!(%error, name, "a name was not resolved");
            Err(io::Error::other(UNANSWERED))
        }
    }
}
