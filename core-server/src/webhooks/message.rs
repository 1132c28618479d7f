//! [Standard Webhooks](https://www.standardwebhooks.com) messages: bodies, IDs, secrets and signatures.

use aws_lc_rs::{error::Unspecified, hmac};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use compliance_api::v1::Change;
use serde::Serialize;

/// The prefix of every secret.
const SECRET_PREFIX: &str = "whsec_";
/// Size of a secret, in bytes.
const SECRET: usize = 32;
/// Maximum size of a body without its changes, in bytes.
const AROUND_CHANGES: usize = 200;

/// A webhook message.
pub(super) struct Message {
    pub(super) id: String,
    pub(super) body: String,
}

/// A message body. The same changes always produce the same body, until an erasure removes personal data from them.
#[derive(Serialize)]
struct Body<D> {
    r#type: &'static str,
    /// When the last change happened, in RFC 3339 format.
    timestamp: String,
    data: D,
}

#[derive(Serialize)]
struct Page<'c> {
    after: i64,
    position: i64,
    /// The first position that a restore has skipped, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    restored: Option<i64>,
    changes: &'c [Change],
}

impl Message {
    /// Creates a message with the changes between two positions.
    pub(super) fn of_changes(
        id: String,
        after: i64,
        position: i64,
        restored: Option<i64>,
        changes: &[Change],
    ) -> Result<Self, serde_json::Error> {
        let time = changes.last().and_then(|change| change.time).unwrap_or_default();
        let data = Page { after, position, restored, changes };
        let body = Body { r#type: "changes", timestamp: time.to_string(), data };
        Ok(Self { id, body: serde_json::to_string(&body)? })
    }

    /// Creates a test message.
    pub(super) fn of_test(id: String, now: prost_types::Timestamp) -> Result<Self, serde_json::Error> {
        let body = Body { r#type: "test", timestamp: now.to_string(), data: serde_json::Map::new() };
        Ok(Self { id, body: serde_json::to_string(&body)? })
    }

    /// Returns the value of `webhook-signature`, with one signature per secret.
    pub(super) fn signatures<'s>(&self, timestamp: u64, secrets: impl Iterator<Item = &'s str>) -> String {
        let sign = |secret: &str| {
            let key = STANDARD.decode(secret.trim_start_matches(SECRET_PREFIX)).unwrap_or_default();
            let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &key));
            context.update(format!("{}.{timestamp}.", self.id).as_bytes());
            context.update(self.body.as_bytes());
            format!("v1,{}", STANDARD.encode(context.sign()))
        };
        secrets.map(sign).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the number of changes that fit into a body of `limit` bytes, at least one.
pub(super) fn fitting(changes: &[Change], limit: usize) -> usize {
    let mut bytes = AROUND_CHANGES;
    let fits = |change: &&Change| {
        bytes += serde_json::to_vec(change).map_or(0, |json| json.len() + 1);
        bytes <= limit
    };
    changes.iter().take_while(fits).count().max(1)
}

/// Generates a message ID.
pub(super) fn new_id() -> String {
    format!("msg_{}", rand::random::<u64>())
}

/// Generates a secret.
pub(super) fn new_secret() -> Result<String, Unspecified> {
    let mut bytes = [0; SECRET];
    aws_lc_rs::rand::fill(&mut bytes)?;
    Ok(format!("{SECRET_PREFIX}{}", STANDARD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use compliance_api::v1::Change;

    use super::{Message, fitting};

    #[test]
    fn batches_respect_the_body_limit() {
        let changes: Vec<_> = (1..=9).map(|position| Change { position, ..Change::default() }).collect();
        let bytes = |count: usize| {
            Message::of_changes("msg_1".to_owned(), i64::MAX, i64::MAX, Some(i64::MAX), &changes[..count])
                .unwrap()
                .body
                .len()
        };
        for limit in 0..bytes(9) {
            let count = fitting(&changes, limit);
            assert!(count == 1 || bytes(count) <= limit, "{limit}: {count}");
        }
        // Half the size of a rejected body fits fewer changes.
        assert!((2..=9).all(|count| fitting(&changes[..count], bytes(count) / 2) < count));
        assert_eq!(fitting(&changes, usize::MAX), 9);
    }

    /// The example from the specification's libraries.
    #[test]
    fn signatures_match_the_standard_webhooks_example() {
        let message = Message { id: "msg_p5jXN8AQM9LWM0D4loKWxJek".into(), body: r#"{"test": 2432232314}"#.into() };
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(message.signatures(1_614_265_330, [secret].into_iter()), signature);
        let both = message.signatures(1_614_265_330, [secret, "whsec_AAAA"].into_iter());
        assert!(both.starts_with(&format!("{signature} v1,")) && both.len() == 2 * signature.len() + 1);
    }
}
