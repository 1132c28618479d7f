//! Lookups of names. Nobody can cancel one: it has a thread until the name servers respond, or the system gives up after up to a minute.
//! So an endpoint has one at a time, and a company only as many as it has endpoints.

use std::{future::Future, io, net::SocketAddr};

use admission::{Count, Counts, Full};
use tokio::net::lookup_host;

use crate::limits::{WEBHOOK_COMPANY_SLOTS, WEBHOOK_COMPANY_TESTS, WEBHOOK_LOOKUPS, WEBHOOK_TESTS};

/// Why a name is not looked up.
const UNANSWERED: &str = "the name servers of the host have not responded to an earlier attempt";
const TOO_MANY: &str = "too many name servers do not respond";

/// Lookups in progress. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Lookups {
    of_company: Counts,
    of_endpoint: Counts,
}

/// Whose endpoint a name is looked up for.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) lookups: Lookups,
    pub(super) company_id: i64,
    pub(super) webhook_id: i64,
}

tokio::task_local! {
    /// The caller that a connection is made for.
    pub(super) static CALLER: Caller;
}

impl Lookups {
    /// For one class of deliveries.
    pub(super) fn of_deliveries() -> Self {
        Self::new(WEBHOOK_LOOKUPS, WEBHOOK_COMPANY_SLOTS, 1)
    }

    /// For test messages.
    pub(super) fn of_tests() -> Self {
        Self::new(WEBHOOK_TESTS, WEBHOOK_COMPANY_TESTS, WEBHOOK_COMPANY_TESTS)
    }

    fn new(total: usize, of_company: usize, of_endpoint: usize) -> Self {
        Self { of_company: Counts::new(total, of_company), of_endpoint: Counts::new(total, of_endpoint) }
    }

    fn add(&self, company_id: i64, webhook_id: i64) -> Result<(Count, Count), &'static str> {
        let endpoint = self.of_endpoint.add(webhook_id).map_err(|full| match full {
            Full::Company => UNANSWERED,
            Full::Process => TOO_MANY,
        })?;
        Ok((endpoint, self.of_company.add(company_id).map_err(|_| TOO_MANY)?))
    }
}

impl Caller {
    /// The addresses of a name.
    pub(super) fn look_up(&self, name: &str) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + use<> {
        let permits = self.lookups.add(self.company_id, self.webhook_id);
        let name = name.to_owned();
        async { lookup(name, permits.map_err(io::Error::other)?).await }
    }
}

/// The addresses of a name. A lookup holds its permit until it ends, also if nobody waits for it any more, since its thread goes on.
pub(super) async fn lookup<P: Send + 'static>(name: String, permit: P) -> io::Result<Vec<SocketAddr>> {
    let lookup = async move {
        let found = lookup_host((&*name, 0)).await.map(Iterator::collect);
        drop(permit);
        found
    };
    tokio::spawn(lookup).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::{Lookups, TOO_MANY, UNANSWERED};
    use crate::limits::{MAX_WEBHOOKS, WEBHOOK_COMPANY_SLOTS, WEBHOOK_LOOKUPS};

    #[test]
    fn silent_name_servers_keep_no_other_endpoint_from_its_lookup() {
        assert_eq!(WEBHOOK_COMPANY_SLOTS as i64, MAX_WEBHOOKS);
        let lookups = Lookups::of_deliveries();
        let silent: Vec<_> = (1..MAX_WEBHOOKS).map(|webhook| lookups.add(7, webhook).unwrap()).collect();
        for webhook in 1..MAX_WEBHOOKS {
            assert_eq!(lookups.add(7, webhook).err(), Some(UNANSWERED));
        }
        // The company's own endpoint that works, and those of others.
        let own = lookups.add(7, MAX_WEBHOOKS).unwrap();
        let others: Vec<_> = (8..).map_while(|company| lookups.add(company, 100 * company).ok()).collect();
        assert_eq!(silent.len() + 1 + others.len(), WEBHOOK_LOOKUPS);
        // Endpoints that were deleted still count.
        drop(others);
        assert_eq!(lookups.add(7, MAX_WEBHOOKS + 1).err(), Some(TOO_MANY));
        drop((silent, own));
        assert!((1..=MAX_WEBHOOKS).all(|webhook| lookups.add(7, webhook).is_ok()));
    }
}
