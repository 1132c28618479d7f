//! Statements that write, and the forms of what they write.

use compliance_api::error::Error;
use prost_types::Timestamp;
use time::OffsetDateTime;

use crate::error::{from_database, is_contention, is_disconnected};

/// How often a statement is tried that got in another's way, or whose connection was dead.
pub(super) const TRIES: u32 = 5;

/// Runs a statement, and again where that helps: every write of this side may be repeated.
pub(super) async fn write<T, F: Future<Output = Result<T, sqlx::Error>>>(run: impl Fn() -> F) -> Result<T, Error> {
    let mut tries = 0;
    loop {
        tries += 1;
        match run().await {
            Err(error) if tries < TRIES && (is_contention(&error) || is_disconnected(&error)) => {
                tracing::debug!("a write is tried again: {error}");
            }
            result => return result.map_err(|error| from_database(&error)),
        }
    }
}

/// A moment as it is stored: in whole seconds. The rules have seen to its range.
pub(super) fn moment(value: Option<&Timestamp>) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp(value?.seconds).ok()
}

/// A text as it is stored: an empty one is none.
pub(super) fn filled(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.is_empty())
}

/// Values as an array parameter. One of nothing but nulls is empty: `unnest` fills it, and nothing is sent.
pub(super) fn array<T>(values: impl Iterator<Item = Option<T>>) -> Vec<Option<T>> {
    let values: Vec<Option<T>> = values.collect();
    if values.iter().all(Option::is_none) { Vec::new() } else { values }
}

/// An affiliate as an item names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AffiliateRef {
    /// By the ID that the service assigned.
    Id(i64),
    /// By the client's own identifier.
    Client(String),
}

impl AffiliateRef {
    /// The affiliate of an item's two fields. Naming it twice is what `Err` tells of.
    pub(super) fn of(id: Option<i64>, client: Option<String>) -> Result<Option<Self>, ()> {
        match (id, filled(client)) {
            (Some(_), Some(_)) => Err(()),
            (Some(id), None) => Ok(Some(Self::Id(id))),
            (None, Some(client)) => Ok(Some(Self::Client(client))),
            (None, None) => Ok(None),
        }
    }

    /// The ID, where it is named by that.
    pub(super) fn id(&self) -> Option<i64> {
        match self {
            Self::Id(id) => Some(*id),
            Self::Client(_) => None,
        }
    }

    /// The client's own identifier, where it is named by that.
    pub(super) fn client(&self) -> Option<&str> {
        match self {
            Self::Id(_) => None,
            Self::Client(client) => Some(client),
        }
    }

    /// The field that names it.
    pub(super) fn field(&self) -> &'static str {
        match self {
            Self::Id(_) => "affiliate_id",
            Self::Client(_) => "client_affiliate_id",
        }
    }
}

/// What is said of an affiliate that the company does not have.
pub(super) const NO_AFFILIATE: &str = "No affiliate of the company has this identifier.";
/// What is said of a URL that the company does not have.
pub(super) const NO_URL: &str = "URL not found.";
/// What is said of an affiliate that is named twice.
pub(super) const NAMED_TWICE: &str = "An affiliate is named by affiliate_id or by client_affiliate_id, not by both.";

/// SQL for the ID of the affiliate of the company `$1` that is named by an ID or by the client's own identifier.
pub(super) fn affiliate(id: &str, client: &str) -> String {
    format!(
        "((select a.id from affiliates a where a.company_id = $1 and a.id = {id} limit 1)
        union all
        (select a.id from affiliates a where a.company_id = $1 and a.client_affiliate_id = {client}
            order by a.id limit 1))"
    )
}

/// SQL for the ID and the hash of the URL of the company `$1` that is named by its ID or its hash.
pub(super) fn url(id: &str, hash: &str) -> String {
    format!(
        "((select u.id, u.url_hash from compliance_urls u where u.company_id = $1 and u.id = {id} limit 1)
        union all
        (select u.id, u.url_hash from compliance_urls u where u.company_id = $1 and u.url_hash = {hash} limit 1))"
    )
}
