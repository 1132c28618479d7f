//! Creates clients for cores on other machines.

mod address;
mod channel;
mod cores;
mod reads;

pub use address::RemoteError;
pub use channel::{CoreChannel, connect};

use std::sync::Arc;

use compliance_api::client::Clients;

use self::reads::CoalescedReads;
use crate::settings::Settings;

/// Returns clients for the cores at `core_urls`, over a channel from [`connect`].
pub fn remote(core_urls: &str, settings: &Settings) -> Result<Clients, RemoteError> {
    let (cores, limit) = (channel::connect_to_all(core_urls, settings)?, settings.message_limit());
    let channel = channel::channel(Arc::clone(&cores));
    let reads = CoalescedReads::new(channel.clone(), limit, settings.request_timeout);
    Ok(Clients { health: cores, ..Clients::remote(channel, limit, Arc::new(reads)) })
}

#[cfg(test)]
mod tests {
    use crate::{remote, settings::Settings};

    #[tokio::test]
    async fn core_urls_need_scheme_and_host() {
        for right in ["http://127.0.0.1:50051", "http://a:1,http://[::1]:2", "http://a:1, https://b", "https://core:1"]
        {
            assert!(remote(right, &Settings::default()).is_ok(), "{right}");
        }
        for wrong in ["", "http://a:1,", "http://a:1,b:2", "127.0.0.1:50051", "localhost", "http://", "unix:/tmp/core"]
        {
            assert!(remote(wrong, &Settings::default()).is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn repeated_core_urls_are_rejected() {
        for repeated in [
            "http://a:1,http://a:1",
            "http://a:1,http://b:1,http://A.:1/",
            "http://a,http://a:80",
            "https://a,https://a:443",
            "http://[::1]:1,http://[0:0:0:0:0:0:0:1]:1",
            "http://127.0.0.1:1,http://[::ffff:127.0.0.1]:1",
        ] {
            let error = remote(repeated, &Settings::default()).unwrap_err();
            assert!(error.to_string().contains("are the same core"), "{error}");
        }
    }
}
