//! The operations of partners.

use compliance_api::{
    error::Reason,
    v1::{ListComplianceCasesRequest, ListComplianceUrlsRequest},
};
use http::StatusCode;

use super::{
    example::{self, named},
    header,
    operation::{Operation, Tag},
    parameter,
    schema::{list_of, one_of, reference},
};
use crate::{
    json::{Json, object},
    routes::text,
};

fn examples(examples: impl IntoIterator<Item = (String, Json)>) -> Json {
    Json::object(examples)
}

pub(crate) fn list_affiliates() -> Operation {
    let data = [example::affiliate()];
    Operation::of_partners(Tag::Affiliates, "listAffiliates", "List all affiliates", "AffiliateService/ListAffiliates")
        .described(
            "Every affiliate of the company, by ID ascending, in one response without pages. The response is streamed: \
             read it as it arrives. If the connection ends before the JSON does, the list is incomplete.",
        )
        .returns(
            StatusCode::OK,
            "The affiliates; an empty list if there are none.",
            reference("AffiliateList"),
            examples([named("list", "One affiliate", example::found(text::AFFILIATES_FOUND, &data, None))]),
        )
}

pub(crate) fn get_affiliate() -> Operation {
    let found = example::found(text::AFFILIATE_FOUND, &example::affiliate(), None);
    Operation::of_partners(Tag::Affiliates, "getAffiliate", "Read an affiliate", "AffiliateService/GetAffiliate")
        .described("One affiliate by its ID.")
        .parameters([parameter::path_id("affiliate")])
        .returns(
            StatusCode::OK,
            "The affiliate.",
            reference("AffiliateFound"),
            examples([named("affiliate", "An affiliate", found)]),
        )
        .refuses(&[Reason::AffiliateNotFound])
}

pub(crate) fn create_affiliates() -> Operation {
    let bodies = [
        named("one", "One affiliate", example::body(example::CREATE)),
        named("batch", "Many affiliates", example::body(example::CREATE_BATCH)),
    ];
    let created = reference("AffiliateCreated");
    Operation::of_partners(Tag::Affiliates, "createAffiliates", "Create affiliates", "AffiliateService/CreateAffiliate")
        .described(
            "One affiliate, or many as `affiliates`. In a batch, a name that exists (1023) or an unknown country code \
             (1024) fails its item alone, and the status is 207; any other violation rejects the whole request with 422, \
             and nothing is saved.",
        )
        .body(one_of(&["AffiliateCreate", "AffiliateCreateBatch"]), examples(bodies))
        .returns_with(
            &[header::LOCATION],
            StatusCode::CREATED,
            "Created. For a batch: every item was created; one result per item, in the order sent.",
            object! { "oneOf": Json::list([created.clone(), list_of(created)]) },
            examples([named("one", "One affiliate", example::created())]),
        )
        .returns(
            StatusCode::MULTI_STATUS,
            "Some or all items of a batch failed; one result per item, in the order sent.",
            list_of(one_of(&["AffiliateCreated", "AffiliateDuplicate", "AffiliateInvalidCountry"])),
            examples([named("batch", "One was created", example::created_batch())]),
        )
        .refuses(&[Reason::AffiliateNameExists])
}

pub(crate) fn update_affiliates() -> Operation {
    let bodies = [
        named("one", "One affiliate", example::body(example::UPDATE)),
        named("batch", "Many affiliates", example::body(example::UPDATE_BATCH)),
    ];
    let updated = reference("AffiliateUpdated");
    Operation::of_partners(Tag::Affiliates, "updateAffiliates", "Update affiliates", "AffiliateService/UpdateAffiliate")
        .described(
            "Changes the fields that are sent, of one affiliate or of many as `affiliates`. One: `id` in the body equals \
             the ID in the URL. Many: the ID in the URL is any affiliate of the company. The changes are applied in the \
             order sent; an unknown ID (1025), a name that is taken or an unknown country code (1021) fails its item \
             alone, and the status is 207.",
        )
        .parameters([parameter::path_id("affiliate")])
        .body(one_of(&["AffiliateUpdate", "AffiliateUpdateBatch"]), examples(bodies))
        .returns(
            StatusCode::OK,
            "Updated. For a batch: every item was updated; one result per item, in the order sent.",
            object! { "oneOf": Json::list([updated.clone(), list_of(updated)]) },
            examples([named("one", "One affiliate", example::updated())]),
        )
        .returns(
            StatusCode::MULTI_STATUS,
            "Some or all items of a batch failed; one result per item, in the order sent.",
            list_of(one_of(&["AffiliateUpdated", "AffiliateUpdateFailed", "AffiliateUnknown"])),
            examples([named("batch", "One was updated", example::updated_batch())]),
        )
        .refuses(&[Reason::AffiliateNotFound])
}

pub(crate) fn list_urls() -> Operation {
    let data = [example::url()];
    Operation::of_partners(Tag::Urls, "listUrls", "List compliance URLs", "ComplianceUrlService/ListComplianceUrls")
        .described(
            "One page of the URLs that match every filter. Ties are sorted by ID in the same direction; absent dates come \
             last in both. A page past the end is empty.",
        )
        .parameters(parameter::of_query::<ListComplianceUrlsRequest>("ListComplianceUrlsRequest"))
        .returns(
            StatusCode::OK,
            "The page.",
            reference("UrlList"),
            examples([named("page", "One URL", example::found(text::URLS_FOUND, &data, Some(example::meta())))]),
        )
        .refuses(&[Reason::InvalidFields])
}

pub(crate) fn get_url() -> Operation {
    let found = example::found(text::URL_FOUND, &example::url(), None);
    Operation::of_partners(Tag::Urls, "getUrl", "Read a compliance URL", "ComplianceUrlService/GetComplianceUrl")
        .described("One URL by its ID.")
        .parameters([parameter::path_id("URL")])
        .returns(StatusCode::OK, "The URL.", reference("UrlFound"), examples([named("url", "A URL", found)]))
        .refuses(&[Reason::UrlNotFound])
}

pub(crate) fn add_urls() -> Operation {
    Operation::of_partners(Tag::Urls, "addUrls", "Add compliance URLs", "ComplianceUrlService/AddComplianceUrls")
        .described(
            "Adds URLs to be monitored. One that the company has already is skipped (1023). URLs are compared in their \
             normalised form: scheme and host in lower case, default port and empty path resolved.",
        )
        .body(reference("UrlsAdd"), examples([named("urls", "Two URLs", example::body(example::ADD))]))
        .returns(
            StatusCode::CREATED,
            "One result per element, in the order sent. The status is 201 even if URLs were skipped.",
            list_of(one_of(&["UrlAdded", "UrlDuplicate"])),
            examples([named("urls", "One was added", example::added())]),
        )
}

pub(crate) fn list_cases() -> Operation {
    let data = [example::case()];
    Operation::of_partners(
        Tag::Cases,
        "listCases",
        "List compliance cases",
        "ComplianceCaseService/ListComplianceCases",
    )
    .described(
        "One page of the cases that match every filter, each with its affiliate's current data and its incidents. Ties \
             are sorted by ID in the same direction. A page past the end is empty.",
    )
    .parameters(parameter::of_query::<ListComplianceCasesRequest>("ListComplianceCasesRequest"))
    .returns(
        StatusCode::OK,
        "The page.",
        reference("CaseList"),
        examples([named("page", "One case", example::found(text::CASES_FOUND, &data, Some(example::meta())))]),
    )
    .refuses(&[Reason::InvalidFields])
}

pub(crate) fn get_case() -> Operation {
    let found = example::found(text::CASE_FOUND, &example::case(), None);
    Operation::of_partners(Tag::Cases, "getCase", "Read a compliance case", "ComplianceCaseService/GetComplianceCase")
        .described("One case by its ID.")
        .parameters([parameter::path_id("case")])
        .returns(StatusCode::OK, "The case.", reference("CaseFound"), examples([named("case", "A case", found)]))
        .refuses(&[Reason::CaseNotFound])
}
