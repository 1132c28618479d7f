//! The tables and input types that this version of the service works with.

use compliance_api::v1::{Affiliate, AffiliateInput, ComplianceCase, ComplianceUrl};

use crate::{affiliates, monitoring, table::Expected};

/// What the database's catalogue is checked against at start.
pub(crate) fn expected() -> Expected {
    let expected = Expected::default()
        .record::<Affiliate>()
        .record::<AffiliateInput>()
        .record::<ComplianceUrl>()
        .record::<ComplianceCase>()
        .composite(&affiliates::INPUT);
    monitoring::expect(expected)
}
