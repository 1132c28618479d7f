//! `/vocabularies`

use axum::response::Response;
use compliance_api::v1::GetVocabulariesRequest;

use crate::{caller::Caller, envelope::Rejection};

/// List the vocabularies
///
/// Returns the names that fields can have, with their IDs. Filters use the IDs: `case_status_id` expects an ID from `case_status`,
/// and `incident_status_id` an ID from `url_incident_status`. IDs below 1000 are the same for every company. Other IDs belong to names
/// that your company added.
///
/// - Operation: `getVocabularies`
/// - 200: `VocabulariesFound`. Every vocabulary.
pub(crate) async fn get(caller: Caller) -> Result<Response, Rejection> {
    let response =
        caller.call(GetVocabulariesRequest {}, |core, request| core.vocabularies.get_vocabularies(request)).await?;
    response.found(&caller, "Vocabularies found", |found| &found.vocabularies)
}
