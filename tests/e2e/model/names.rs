//! The specification's default names. An ID is the position of its name, from 1.

pub(super) const CASE_STATUS: &[&str] =
    &["New", "Open", "In Progress", "Blocked", "Resolved", "Closed", "Rejected", "Invalid", "Duplicate"];
pub(super) const SUB_STATUS: &[&str] = &[
    "Under Review",
    "Quality Assurance",
    "Awaiting Evidence",
    "Awaiting Response",
    "Content Removed",
    "Content Modified",
    "Platform Takedown Requested",
    "Escalated",
    "Appealed",
];
pub(super) const NOTICE_STATUS: &[&str] =
    &["Pending", "Not Required", "Sent", "Reminder Sent", "Final Notice", "Acknowledged", "Responded", "Expired"];
pub(super) const RISK_LEVEL: &[&str] = &["Low", "Medium", "High", "Critical"];
pub(super) const INCIDENT_STATUS: &[&str] = &["New", "Open", "In Violation", "Approved", "Remediated", "Archived"];
pub(super) const TRANSCRIPTION_STATUS: &[&str] = &["Queued", "In Progress", "Completed", "Failed"];
pub(super) const INCIDENT_TYPE: &[&str] = &["url", "form", "display ad", "paid search ad"];
pub(super) const INFRACTION_TYPE: &[&str] = &[
    "Earnings Claim",
    "Health Claim",
    "Product Claim",
    "Trademark",
    "Promotion",
    "Disclosure",
    "Traffic Quality",
    "Recruiting",
];
pub(super) const INFRACTION_NAME: &[&str] = &[
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
];
/// Some countries: numeric code and short name.
pub(super) const COUNTRY: &[(i16, &str)] =
    &[(276, "Germany"), (484, "Mexico"), (250, "France"), (392, "Japan"), (76, "Brazil"), (36, "Australia")];

/// Returns a name as JSON, or `null` if the ID is absent.
pub(super) fn json(names: &[&str], id: Option<usize>) -> String {
    id.map_or("null".to_owned(), |id| serde_json::to_string(names[id - 1]).unwrap())
}
