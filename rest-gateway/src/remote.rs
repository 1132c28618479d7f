//! A core on another machine.

mod channel;
mod reads;

pub use channel::{CoreChannel, RemoteError, connect};

use std::sync::Arc;

use compliance_api::client::Clients;

use self::reads::CoalescedReads;
use crate::Settings;

/// Clients of the core at `core_url` (`http://host:port`).
pub fn remote(core_url: &str, settings: &Settings) -> Result<Clients, RemoteError> {
    let (channel, limit) = (connect(core_url, settings)?, settings.message_limit());
    let reads = CoalescedReads::new(channel.clone(), limit, settings.request_timeout);
    Ok(Clients::remote(channel, limit, Arc::new(reads)))
}

#[cfg(test)]
mod tests {
    use crate::{Settings, remote};

    #[tokio::test]
    async fn an_address_has_a_scheme_and_a_host() {
        assert!(remote("http://127.0.0.1:50051", &Settings::default()).is_ok());
        for wrong in ["", "127.0.0.1:50051", "localhost", "https://core:1", "http://", "unix:/tmp/core"] {
            assert!(remote(wrong, &Settings::default()).is_err(), "{wrong}");
        }
    }
}
