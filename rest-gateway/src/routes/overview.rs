//! `/overview`

use axum::response::Response;
use compliance_api::v1::GetOverviewRequest;

use crate::{caller::Caller, envelope::Rejection};

/// Read the overview
///
/// Returns figures about the company's records, all from one database snapshot: open cases by risk level and by age, overdue follow-ups,
/// new records, and the last twelve weeks.
///
/// - Operation: `getOverview`
/// - 200: `OverviewFound`. The figures.
pub(crate) async fn get(caller: Caller) -> Result<Response, Rejection> {
    let response = caller.call(GetOverviewRequest {}, |core, request| core.overview.get_overview(request)).await?;
    response.found(&caller, "Overview found", |overview| overview)
}
