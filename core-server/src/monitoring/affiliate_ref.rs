//! References to affiliates.

use super::values::non_empty;

/// The affiliate that an item refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AffiliateRef {
    /// By the ID that the service assigned.
    Id(i64),
    /// By the client's own identifier.
    ClientId(String),
}

/// An item refers to its affiliate in both ways.
pub(super) struct Ambiguous;

/// The message for an affiliate that the company does not have.
pub(super) const AFFILIATE_NOT_FOUND: &str = "No affiliate of the company has this identifier.";

impl Ambiguous {
    /// The message for the partner.
    pub(super) const MESSAGE: &str = "An affiliate is named by affiliate_id or by client_affiliate_id, not by both.";
}

impl AffiliateRef {
    /// Reads the two fields of an item.
    pub(super) fn of(id: Option<i64>, client_id: Option<String>) -> Result<Option<Self>, Ambiguous> {
        match (id, non_empty(client_id)) {
            (Some(_), Some(_)) => Err(Ambiguous),
            (Some(id), None) => Ok(Some(Self::Id(id))),
            (None, Some(client_id)) => Ok(Some(Self::ClientId(client_id))),
            (None, None) => Ok(None),
        }
    }

    /// The ID, if the reference is one.
    pub(super) fn id(&self) -> Option<i64> {
        match self {
            Self::Id(id) => Some(*id),
            Self::ClientId(_) => None,
        }
    }

    /// The client's own identifier, if the reference is one.
    pub(super) fn client_id(&self) -> Option<&str> {
        match self {
            Self::Id(_) => None,
            Self::ClientId(client_id) => Some(client_id),
        }
    }

    /// The field that holds the reference.
    pub(super) fn field(&self) -> &'static str {
        match self {
            Self::Id(_) => "affiliate_id",
            Self::ClientId(_) => "client_affiliate_id",
        }
    }
}
