//! Reviews: the verdict on one URL, with its infractions.

use std::{slice, sync::LazyLock};

use compliance_api::{
    error::Error,
    rules::Violations,
    v1::{ReviewUrlRequest, ReviewUrlResponse, UrlReview},
};
use prost_types::FieldMask;
use storage::{
    statement,
    table::{Attribute, Composite},
};

use super::{
    context::CompanyWriter,
    field_updates::FieldUpdates,
    infractions::{self, Infraction},
    names::CompanyNames,
};
use crate::access::no_violations;

/// The field with the infractions, which are separate records.
const INFRACTIONS: &str = "infractions";
/// The fields that cannot be cleared.
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

pub(super) async fn review(company: CompanyWriter<'_>, request: ReviewUrlRequest) -> Result<ReviewUrlResponse, Error> {
    let ReviewUrlRequest { id, review, update_mask } = request;
    let review = review.unwrap_or_default();
    let replaces_infractions = writes_infractions(&review, update_mask.as_ref());
    let are_known =
        |names: &CompanyNames| names.knows_record(&review) && infractions::are_known(names, review.infractions.iter());
    let names = company.names(are_known).await?;
    let mut violations = Violations::new();
    let infractions = Infraction::within(&names, &mut violations, &review.infractions);
    let review = FieldUpdates::masked(&names, &mut violations, "", review, update_mask.as_ref(), &REQUIRED);
    no_violations(violations)?;
    let review = Review { review, infractions };
    let found = company.write(|pool, layouts| {
        let batch = INPUT.batch(&layouts, slice::from_ref(&review));
        let statement = sqlx::query_file_scalar!(
            "src/monitoring/reviews/review.sql",
            company.id,
            id,
            batch as _,
            replaces_infractions,
            statement::writer()
        );
        async move { statement.fetch_optional(&pool).await }
    });
    let found = found.await?;
    found.map(|url_id| ReviewUrlResponse { url_id }).ok_or_else(|| Error::url_not_found(id))
}

/// Whether the infractions are replaced: the mask names them, or a review without a mask has some.
fn writes_infractions(review: &UrlReview, mask: Option<&FieldMask>) -> bool {
    mask.map_or(!review.infractions.is_empty(), |mask| mask.paths.iter().any(|path| path == INFRACTIONS))
}
