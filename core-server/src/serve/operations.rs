//! The paths of operations that are treated specially.

pub(super) const GET_AFFILIATE: &str = "/compliance.v1.AffiliateService/GetAffiliate";
pub(super) const GET_URL: &str = "/compliance.v1.ComplianceUrlService/GetComplianceUrl";
pub(super) const GET_CASE: &str = "/compliance.v1.ComplianceCaseService/GetComplianceCase";

/// Reads of single records. Concurrent ones become one statement.
pub(super) const COALESCED: [&str; 3] = [GET_AFFILIATE, GET_URL, GET_CASE];
