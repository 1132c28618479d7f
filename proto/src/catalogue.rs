//! The vocabularies that every company starts with.
//!
//! A company's custom names have IDs from [`FIRST_OWN_ID`] up. The default IDs never change, and are the same for every company.

/// Lowest ID of a company's custom names.
pub const FIRST_OWN_ID: i32 = 1000;

/// A vocabulary: the names that a field allows.
pub use crate::v1::VocabularyKind as Vocabulary;

impl Vocabulary {
    /// Returns every vocabulary, in numeric order.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..).map_while(|number| Self::try_from(number).ok())
    }

    /// Returns the name in JSON, such as `case_status`.
    pub fn key(self) -> String {
        self.as_str_name().trim_start_matches("VOCABULARY_KIND_").to_lowercase()
    }

    /// Returns the names that every company starts with. Their IDs start at 1.
    pub const fn defaults(self) -> &'static [&'static str] {
        match self {
            Self::Unspecified => &[],
            Self::CaseStatus => {
                &["New", "Open", "In Progress", "Blocked", "Resolved", "Closed", "Rejected", "Invalid", "Duplicate"]
            }
            Self::CaseSubStatus => &[
                "Under Review",
                "Quality Assurance",
                "Awaiting Evidence",
                "Awaiting Response",
                "Content Removed",
                "Content Modified",
                "Platform Takedown Requested",
                "Escalated",
                "Appealed",
            ],
            Self::NoticeStatus => &[
                "Pending",
                "Not Required",
                "Sent",
                "Reminder Sent",
                "Final Notice",
                "Acknowledged",
                "Responded",
                "Expired",
            ],
            Self::RiskLevel => &["Low", "Medium", "High", "Critical"],
            Self::UrlIncidentStatus => &["New", "Open", "In Violation", "Approved", "Remediated", "Archived"],
            Self::TranscriptionStatus => &["Queued", "In Progress", "Completed", "Failed"],
            Self::InfractionType => &[
                "Earnings Claim",
                "Health Claim",
                "Product Claim",
                "Trademark",
                "Promotion",
                "Disclosure",
                "Traffic Quality",
                "Recruiting",
            ],
            Self::InfractionName => &[
                "unlimited income",
                "replacement income",
                "quit your job",
                "financial freedom",
                "specific amount without disclosure",
                "treats or cures a disease",
                "mental health",
                "weight loss",
                "unsubstantiated performance",
                "superiority",
                "brand bidding",
                "domain misuse",
                "ad copy misuse",
                "expired promo code",
                "misleading offer",
                "incentivised traffic",
                "missing affiliate disclosure",
                "click spam",
                "cookie stuffing",
                "unauthorised placement",
                "cross-recruiting",
            ],
            Self::IncidentType => &["url", "form", "display ad", "paid search ad"],
        }
    }

    /// Returns the default name with this ID.
    pub fn default_name(self, id: i32) -> Option<&'static str> {
        usize::try_from(id).ok()?.checked_sub(1).and_then(|index| self.defaults().get(index)).copied()
    }

    /// Returns the ID of a default name. Names must match exactly.
    pub fn default_id(self, name: &str) -> Option<i32> {
        self.defaults().iter().position(|default| *default == name).map(|index| index as i32 + 1)
    }
}

/// Number of default infraction names per type. The names are ordered by type.
pub const DEFAULT_NAMES_PER_TYPE: [usize; 8] = [5, 3, 2, 3, 3, 1, 3, 1];

/// Returns the type ID of the default infraction name with this ID.
pub fn default_type_of_name(name_id: i32) -> Option<i32> {
    let (name_id, mut last) = (usize::try_from(name_id).ok().filter(|id| *id > 0)?, 0);
    let of_type = |names: usize| {
        last += names;
        name_id <= last
    };
    DEFAULT_NAMES_PER_TYPE.into_iter().position(of_type).map(|index| index as i32 + 1)
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT_NAMES_PER_TYPE, Vocabulary, default_type_of_name};

    #[test]
    fn default_infraction_names_map_to_types() {
        assert_eq!(DEFAULT_NAMES_PER_TYPE.iter().sum::<usize>(), Vocabulary::InfractionName.defaults().len());
        let type_of = |name| {
            let id = Vocabulary::InfractionName.default_id(name).and_then(default_type_of_name);
            id.and_then(|id| Vocabulary::InfractionType.default_name(id))
        };
        assert_eq!(type_of("weight loss"), Some("Health Claim"));
        assert_eq!(type_of("missing affiliate disclosure"), Some("Disclosure"));
        assert_eq!(type_of("cross-recruiting"), Some("Recruiting"));
        assert_eq!(default_type_of_name(22), None);
    }
}
