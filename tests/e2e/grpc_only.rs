//! gRPC-only features: update masks, unknown enum values, many IDs and error details.

use compliance_api::v1::{
    AddComplianceUrlsRequest, Affiliate, AffiliateInput, AffiliateUpdate, BatchGetAffiliatesRequest,
    BatchGetComplianceCasesRequest, BatchGetComplianceUrlsRequest, CreateAffiliateRequest, GetAffiliateRequest,
    ListComplianceCasesRequest, ListComplianceUrlsRequest, UpdateAffiliateRequest, UrlInput,
};
use prost_types::FieldMask;
use test_support::{GrpcClients, TestService, new_company, reason_of};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

#[expect(clippy::unnecessary_wraps, reason = "every text of a message is optional")]
fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

async fn created(grpc: &mut GrpcClients, name: &str) -> i64 {
    let affiliate = AffiliateInput {
        client_affiliate_id: text("C"),
        affiliate_name: text(name),
        city: text("Bonn"),
        zip: text("1"),
        ..AffiliateInput::default()
    };
    let request = CreateAffiliateRequest { affiliate: Some(affiliate) };
    grpc.affiliates.create_affiliate(request).await.unwrap().into_inner().affiliate_id
}

async fn update(
    grpc: &mut GrpcClients,
    id: i64,
    input: AffiliateInput,
    mask: Option<&[&str]>,
) -> Result<Affiliate, Status> {
    let update_mask = mask.map(|paths| FieldMask { paths: paths.iter().map(ToString::to_string).collect() });
    let update = Some(AffiliateUpdate { id: Some(id), affiliate: Some(input), update_mask, etag: String::new() });
    grpc.affiliates.update_affiliate(UpdateAffiliateRequest { update }).await?;
    Ok(grpc.affiliates.get_affiliate(GetAffiliateRequest { id, as_of: None }).await?.into_inner())
}

/// Returns the path and message of each violation.
fn violations(status: &Status) -> Vec<(String, String)> {
    assert_eq!((status.code(), reason_of(status).as_str()), (Code::InvalidArgument, "INVALID_FIELDS"));
    let details = status.get_error_details();
    let violations = details.bad_request().unwrap().field_violations.iter();
    violations.map(|violation| (violation.field.clone(), violation.description.clone())).collect()
}

fn one(path: &str, message: &str) -> Vec<(String, String)> {
    vec![(path.to_owned(), message.to_owned())]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn update_masks_select_fields() {
    let service = TestService::shared().await;
    let grpc = &mut service.grpc(new_company()).await;
    let id = created(grpc, "N").await;
    let state = AffiliateInput { state: text("NRW"), zip: text("2"), ..AffiliateInput::default() };

    // For each field in the mask, a value changes the field, and an absent value clears it. Other fields keep their values.
    let read = update(grpc, id, state.clone(), Some(&["state", "city"])).await.unwrap();
    assert_eq!((read.state.as_deref(), read.city, read.zip.as_deref()), (Some("NRW"), None, Some("1")));
    // Without a mask, present fields change.
    let read = update(grpc, id, AffiliateInput { zip: text("3"), ..AffiliateInput::default() }, None).await.unwrap();
    assert_eq!((read.state.as_deref(), read.zip.as_deref()), (Some("NRW"), Some("3")));
    // An empty mask changes nothing.
    let read = update(grpc, id, state.clone(), Some(&[])).await.unwrap();
    assert_eq!((read.state.as_deref(), read.zip.as_deref()), (Some("NRW"), Some("3")));

    let refused = update(grpc, id, state.clone(), Some(&["city", "town"])).await.unwrap_err();
    assert_eq!(violations(&refused), one("update_mask", "The update mask field names an unknown field: town."));
    let refused = update(grpc, id, state.clone(), Some(&["id"])).await.unwrap_err();
    assert_eq!(violations(&refused)[0].0, "update_mask");
    let refused = update(grpc, id, state, Some(&["affiliate_name"])).await.unwrap_err();
    assert_eq!(violations(&refused), one("affiliate_name", "The affiliate name field is required."));
    // A blank name is invalid, with or without a mask.
    for blank in ["", "  "] {
        let blank = AffiliateInput { affiliate_name: text(blank), ..AffiliateInput::default() };
        for mask in [None, Some(&["affiliate_name"][..])] {
            let refused = update(grpc, id, blank.clone(), mask).await.unwrap_err();
            assert_eq!(violations(&refused), one("affiliate_name", "The affiliate name field is required."));
        }
    }
    // The service does not check fields outside the mask, and does not require absent fields.
    let bad = AffiliateInput { email_one: text("x"), city: text("Köln"), ..AffiliateInput::default() };
    assert_eq!(update(grpc, id, bad.clone(), Some(&["city"])).await.unwrap().city.as_deref(), Some("Köln"));
    let refused = update(grpc, id, bad, None).await.unwrap_err();
    assert_eq!(violations(&refused), one("email_one", "The email one field must be a valid email address."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_enum_values_are_rejected() {
    let service = TestService::shared().await;
    let grpc = &mut service.grpc(new_company()).await;
    let request = ListComplianceUrlsRequest { sort_by: 99, sort_dir: -1, ..Default::default() };
    let refused = grpc.urls.list_compliance_urls(request).await.unwrap_err();
    let expected = [("sort_by", "The selected sort by is invalid."), ("sort_dir", "The selected sort dir is invalid.")];
    assert_eq!(violations(&refused), expected.map(|(path, message)| (path.to_owned(), message.to_owned())));
    let request = ListComplianceCasesRequest { sort_by: 99, ..Default::default() };
    let refused = grpc.cases.list_compliance_cases(request).await.unwrap_err();
    assert_eq!(violations(&refused), one("sort_by", "The selected sort by is invalid."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_gets_deduplicate_up_to_1000_ids() {
    let service = TestService::shared().await;
    let company = new_company();
    let grpc = &mut service.grpc(company).await;
    let (first, second) = (created(grpc, "One").await, created(grpc, "Two").await);
    let ids = vec![second, 0, first, -1, i64::MAX, second];
    let found = grpc.affiliates.batch_get_affiliates(BatchGetAffiliatesRequest { ids }).await.unwrap().into_inner();
    assert_eq!(found.affiliates.iter().map(|one| one.id).collect::<Vec<_>>(), [first, second]);
    let urls = vec![UrlInput { url: text("https://example.org") }];
    let added = grpc
        .urls
        .add_compliance_urls(AddComplianceUrlsRequest { urls, validate_only: false })
        .await
        .unwrap()
        .into_inner();
    let ids = vec![added.results[0].url_id.unwrap(); 2];
    let found = grpc.urls.batch_get_compliance_urls(BatchGetComplianceUrlsRequest { ids }).await.unwrap().into_inner();
    assert_eq!(found.urls.len(), 1);

    let most: Vec<i64> = (0..1000).collect();
    for ids in [vec![], most] {
        grpc.affiliates.batch_get_affiliates(BatchGetAffiliatesRequest { ids: ids.clone() }).await.unwrap();
        grpc.urls.batch_get_compliance_urls(BatchGetComplianceUrlsRequest { ids: ids.clone() }).await.unwrap();
        grpc.cases.batch_get_compliance_cases(BatchGetComplianceCasesRequest { ids }).await.unwrap();
    }
}

/// `ErrorInfo` metadata contains machine-readable values.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn error_metadata_identifies_the_affiliate() {
    let service = TestService::shared().await;
    let grpc = &mut service.grpc(new_company()).await;
    created(grpc, "N").await;
    let status = grpc.affiliates.get_affiliate(GetAffiliateRequest { id: 77, as_of: None }).await.unwrap_err();
    let details = status.get_error_details();
    assert_eq!(details.error_info().unwrap().metadata["affiliate_id"], "77");
    let affiliate =
        AffiliateInput { client_affiliate_id: text("X"), affiliate_name: text("N"), ..AffiliateInput::default() };
    let request = CreateAffiliateRequest { affiliate: Some(affiliate) };
    let status = grpc.affiliates.create_affiliate(request).await.unwrap_err();
    assert_eq!((status.code(), reason_of(&status).as_str()), (Code::AlreadyExists, "AFFILIATE_NAME_EXISTS"));
    assert_eq!(status.get_error_details().error_info().unwrap().metadata["client_affiliate_id"], "X");
}
