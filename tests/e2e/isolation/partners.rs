//! What the operations of partners return to a stranger.

use compliance_api::v1::{
    AddComplianceUrlsRequest, AffiliateInput, AffiliateUpdate, BatchCreateAffiliatesRequest, BatchGetAffiliatesRequest,
    BatchGetComplianceCasesRequest, BatchGetComplianceUrlsRequest, BatchUpdateAffiliatesRequest, CheckAccessRequest,
    CreateAffiliateRequest, GetAffiliateRequest, GetComplianceCaseRequest, GetComplianceUrlRequest,
    ListAffiliatesRequest, ListComplianceCasesRequest, ListComplianceUrlsRequest, StreamComplianceUrlsRequest,
    UpdateAffiliateRequest, UrlInput,
};
use test_support::{reason_of, token};
use tonic::Status;

use super::{
    proofs,
    world::{OWNED_CLIENT_ID, OWNED_NAME, OWNED_URL, World},
};
use crate::batch_read::{Batch, affiliate, case, connect, url};

proofs![
    "AccessService/CheckAccess" => check_access,
    "AffiliateService/ListAffiliates" => list_affiliates,
    "AffiliateService/GetAffiliate" => get_affiliate,
    "AffiliateService/BatchGetAffiliates" => batch_get_affiliates,
    "AffiliateService/CreateAffiliate" => create_affiliate,
    "AffiliateService/BatchCreateAffiliates" => batch_create_affiliates,
    "AffiliateService/UpdateAffiliate" => update_affiliate,
    "AffiliateService/BatchUpdateAffiliates" => batch_update_affiliates,
    "ComplianceUrlService/ListComplianceUrls" => list_urls,
    "ComplianceUrlService/StreamComplianceUrls" => stream_urls,
    "ComplianceUrlService/GetComplianceUrl" => get_url,
    "ComplianceUrlService/BatchGetComplianceUrls" => batch_get_urls,
    "ComplianceUrlService/AddComplianceUrls" => add_urls,
    "ComplianceCaseService/ListComplianceCases" => list_cases,
    "ComplianceCaseService/GetComplianceCase" => get_case,
    "ComplianceCaseService/BatchGetComplianceCases" => batch_get_cases,
    "ReadService/BatchRead" => batch_read,
];

fn refused<T: std::fmt::Debug>(answer: Result<T, Status>, reason: &str) {
    let status = answer.unwrap_err();
    assert_eq!((status.code(), reason_of(&status).as_str()), (tonic::Code::NotFound, reason));
}

fn input(client_id: &str, name: &str) -> AffiliateInput {
    AffiliateInput {
        client_affiliate_id: Some(client_id.to_owned()),
        affiliate_name: Some(name.to_owned()),
        ..AffiliateInput::default()
    }
}

fn update(id: i64) -> AffiliateUpdate {
    let city = AffiliateInput { city: Some("Elsewhere".to_owned()), ..AffiliateInput::default() };
    AffiliateUpdate { id: Some(id), affiliate: Some(city), update_mask: None }
}

async fn check_access(world: &mut World) {
    let company = world.grpc.access.check_access(CheckAccessRequest {}).await.unwrap().into_inner().company_id;
    assert_ne!(company, world.owner);
}

async fn list_affiliates(world: &mut World) {
    let mut list = world.grpc.affiliates.list_affiliates(ListAffiliatesRequest {}).await.unwrap().into_inner();
    while let Some(some) = list.message().await.unwrap() {
        assert_eq!(some.affiliates, []);
    }
}

async fn get_affiliate(world: &mut World) {
    let request = GetAffiliateRequest { id: world.affiliate };
    refused(world.grpc.affiliates.get_affiliate(request).await, "AFFILIATE_NOT_FOUND");
}

async fn batch_get_affiliates(world: &mut World) {
    let request = BatchGetAffiliatesRequest { ids: vec![world.affiliate] };
    assert_eq!(world.grpc.affiliates.batch_get_affiliates(request).await.unwrap().into_inner().affiliates, []);
}

/// The owner's name and identifier are free for others.
async fn create_affiliate(world: &mut World) {
    let request = CreateAffiliateRequest { affiliate: Some(input(OWNED_CLIENT_ID, OWNED_NAME)) };
    let made = world.grpc.affiliates.create_affiliate(request).await.unwrap().into_inner();
    assert_ne!(made.affiliate_id, world.affiliate);
}

async fn batch_create_affiliates(world: &mut World) {
    let request = BatchCreateAffiliatesRequest { affiliates: vec![input(OWNED_CLIENT_ID, OWNED_NAME)] };
    let made = world.grpc.affiliates.batch_create_affiliates(request).await.unwrap().into_inner();
    assert_eq!(made.results[0].code, 1020);
    assert_ne!(made.results[0].affiliate_id, Some(world.affiliate));
}

async fn update_affiliate(world: &mut World) {
    let request = UpdateAffiliateRequest { update: Some(update(world.affiliate)) };
    refused(world.grpc.affiliates.update_affiliate(request).await, "AFFILIATE_NOT_FOUND");
}

async fn batch_update_affiliates(world: &mut World) {
    // The owner's affiliate is no anchor …
    let affiliates = vec![update(world.affiliate)];
    let request = BatchUpdateAffiliatesRequest { anchor_id: Some(world.affiliate), affiliates: affiliates.clone() };
    refused(world.grpc.affiliates.batch_update_affiliates(request).await, "AFFILIATE_NOT_FOUND");
    // … and no item; alone, with a new name, and twice, each of which takes another path through the store.
    let renamed = AffiliateUpdate { affiliate: Some(input("S", "New")), ..update(world.affiliate) };
    for affiliates in [affiliates, vec![renamed.clone(), update(world.affiliate)], vec![renamed.clone(), renamed]] {
        let request = BatchUpdateAffiliatesRequest { anchor_id: None, affiliates };
        let done = world.grpc.affiliates.batch_update_affiliates(request).await.unwrap().into_inner();
        assert!(done.results.iter().all(|result| result.code == 1025), "{done:?}");
    }
}

async fn list_urls(world: &mut World) {
    for distributor_id in [None, Some(world.affiliate)] {
        for discovery_after in [None, Some("2000-01-01".to_owned())] {
            let request = ListComplianceUrlsRequest { distributor_id, discovery_after, ..Default::default() };
            let page = world.grpc.urls.list_compliance_urls(request).await.unwrap().into_inner();
            assert_eq!((page.urls.len(), page.meta.unwrap().total), (0, 0));
        }
    }
}

async fn stream_urls(world: &mut World) {
    for distributor_id in [None, Some(world.affiliate)] {
        let list = Some(ListComplianceUrlsRequest { distributor_id, ..Default::default() });
        let stream = world.grpc.urls.stream_compliance_urls(StreamComplianceUrlsRequest { list }).await;
        let mut messages = stream.unwrap().into_inner();
        let page = messages.message().await.unwrap().unwrap();
        assert_eq!((page.urls.len(), page.meta.unwrap().total), (0, 0));
        assert!(messages.message().await.unwrap().is_none());
    }
}

async fn get_url(world: &mut World) {
    let request = GetComplianceUrlRequest { id: world.url };
    refused(world.grpc.urls.get_compliance_url(request).await, "URL_NOT_FOUND");
}

async fn batch_get_urls(world: &mut World) {
    let request = BatchGetComplianceUrlsRequest { ids: vec![world.url] };
    assert_eq!(world.grpc.urls.batch_get_compliance_urls(request).await.unwrap().into_inner().urls, []);
}

async fn add_urls(world: &mut World) {
    let request = AddComplianceUrlsRequest { urls: vec![UrlInput { url: Some(OWNED_URL.to_owned()) }] };
    let added = world.grpc.urls.add_compliance_urls(request).await.unwrap().into_inner();
    assert_eq!(added.results[0].code, 1020);
    assert_ne!(added.results[0].url_id, Some(world.url));
}

async fn list_cases(world: &mut World) {
    for distributor_id in [None, Some(world.affiliate)] {
        for created_after in [None, Some("2000-01-01".to_owned())] {
            let request = ListComplianceCasesRequest { distributor_id, created_after, ..Default::default() };
            let page = world.grpc.cases.list_compliance_cases(request).await.unwrap().into_inner();
            assert_eq!((page.cases.len(), page.meta.unwrap().total), (0, 0));
        }
    }
}

async fn get_case(world: &mut World) {
    let request = GetComplianceCaseRequest { id: world.case };
    refused(world.grpc.cases.get_compliance_case(request).await, "CASE_NOT_FOUND");
}

async fn batch_get_cases(world: &mut World) {
    let request = BatchGetComplianceCasesRequest { ids: vec![world.case] };
    assert_eq!(world.grpc.cases.batch_get_compliance_cases(request).await.unwrap().into_inner().cases, []);
}

/// The owner's own read in the same message shows nothing to the stranger.
async fn batch_read(world: &mut World) {
    let (owner, stranger) = (token(world.owner), token(world.stranger));
    let mut batch = Batch::default();
    for operation in [affiliate(world.affiliate), url(world.url), case(world.case)] {
        batch = batch.read(Some(&owner), operation).read(Some(&stranger), operation);
    }
    let mut results = batch.results(&connect(world.core).await).await.into_iter();
    for reason in ["AFFILIATE_NOT_FOUND", "URL_NOT_FOUND", "CASE_NOT_FOUND"] {
        assert!(results.next().unwrap().is_ok());
        refused(results.next().unwrap(), reason);
    }
}
