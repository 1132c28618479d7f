//! Reviews: the verdict on a URL, with its infractions.

use std::{
    slice,
    sync::{Arc, LazyLock},
};

use compliance_api::{
    error::Error,
    rules::check,
    v1::{ReviewUrlRequest, ReviewUrlResponse, UrlReview},
};
use prost_types::FieldMask;
use storage::{
    database::Connections,
    error::is_contention,
    statement_context,
    table::{Attribute, Composite, Layouts},
};

use super::{
    context::{CompanyWriter, can_retry},
    field_updates::FieldUpdates,
    infractions::{self, Infraction},
    names::CompanyNames,
};
use crate::{access::no_violations, record_sql::revisions};

/// The field that contains the infractions, which are separate records.
const INFRACTIONS: &str = "infractions";
/// Review fields that cannot be cleared.
const REQUIRED: [&str; 2] = ["incident_status", "disabled"];

pub(super) struct Review {
    review: FieldUpdates<UrlReview>,
    infractions: Vec<Infraction>,
}

/// The input type of a review.
pub(super) static INPUT: LazyLock<Composite<Review>> = LazyLock::new(|| {
    let own = [
        Attribute::scalar("has_values", |review: &Review| Some(!review.review.written.is_empty())),
        Attribute::composites(INFRACTIONS, &infractions::INPUT, |review: &Review| &review.infractions),
    ];
    Composite::new("url_review_input", FieldUpdates::attributes(|review: &Review| &review.review).chain(own))
});

/// The result of a review.
struct Reviewed {
    /// The URL's revision after the statement.
    revision: i64,
    /// Whether the URL had a revision that the request accepts.
    as_expected: bool,
    affiliate_revision: Option<i64>,
}

pub(super) async fn review(company: CompanyWriter<'_>, request: ReviewUrlRequest) -> Result<ReviewUrlResponse, Error> {
    let mut violations = check(&request);
    let ReviewUrlRequest { id, review, update_mask, etag } = request;
    let review = review.unwrap_or_default();
    let replaces_infractions = writes_infractions(&review, update_mask.as_ref());
    let are_known =
        |names: &CompanyNames| names.knows_record(&review) && infractions::are_known(names, review.infractions.iter());
    let names = company.names(are_known).await?;
    let infractions = Infraction::within(&names, &mut violations, &review.infractions);
    let review = FieldUpdates::masked(&names, &mut violations, "", review, update_mask.as_ref(), &REQUIRED);
    no_violations(violations)?;
    let review = Review { review, infractions };
    let revisions = revisions(&etag);
    let write = |pool: Connections, layouts: Arc<Layouts>| {
        let batch = INPUT.batch(&layouts, slice::from_ref(&review));
        let statement = sqlx::query_file_as!(
            Reviewed,
            "src/monitoring/reviews/review.sql",
            company.id,
            id,
            batch as _,
            replaces_infractions,
            statement_context::writer(),
            revisions.as_deref()
        );
        let pool = pool.creating(review.infractions.len());
        async move { statement.fetch_optional(&pool).await }
    };
    // After a lost connection, a retry could see the revision that its own first attempt wrote.
    let can_retry = if revisions.is_some() { is_contention } else { can_retry };
    let reviewed = company.write_in(&company.context.backend.queues.monitoring, can_retry, write).await?;
    let reviewed = reviewed.ok_or_else(|| Error::url_not_found(id))?;
    let etag = reviewed.revision.to_string();
    if reviewed.as_expected {
        let affiliate_etag = reviewed.affiliate_revision.map(|revision| revision.to_string()).unwrap_or_default();
        Ok(ReviewUrlResponse { url_id: id, etag, affiliate_etag })
    } else {
        Err(Error::etag_mismatch("url_id", id, &etag))
    }
}

/// Returns whether the review replaces the infractions: the mask names them, or the mask is absent and the review contains some.
fn writes_infractions(review: &UrlReview, mask: Option<&FieldMask>) -> bool {
    mask.map_or(!review.infractions.is_empty(), |mask| mask.paths.iter().any(|path| path == INFRACTIONS))
}
