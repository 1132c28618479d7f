//! What a stranger is told by the operations of partners.

use compliance_api::v1::{
    AddComplianceUrlsRequest, AffiliateInput, AffiliateUpdate, BatchCreateAffiliatesRequest, BatchGetAffiliatesRequest,
    BatchGetComplianceCasesRequest, BatchGetComplianceUrlsRequest, BatchUpdateAffiliatesRequest, CheckAccessRequest,
    CreateAffiliateRequest, GetAffiliateRequest, GetComplianceCaseRequest, GetComplianceUrlRequest,
    ListAffiliatesRequest, ListComplianceCasesRequest, ListComplianceUrlsRequest, UpdateAffiliateRequest, UrlInput,
};
use tonic::Status;

use super::{
    ground::{Ground, OWNED_CLIENT_ID, OWNED_NAME, OWNED_URL},
    proofs,
};
use test_support::reason_of;

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
    "ComplianceUrlService/GetComplianceUrl" => get_url,
    "ComplianceUrlService/BatchGetComplianceUrls" => batch_get_urls,
    "ComplianceUrlService/AddComplianceUrls" => add_urls,
    "ComplianceCaseService/ListComplianceCases" => list_cases,
    "ComplianceCaseService/GetComplianceCase" => get_case,
    "ComplianceCaseService/BatchGetComplianceCases" => batch_get_cases,
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

async fn check_access(ground: &mut Ground) {
    let company = ground.grpc.access.check_access(CheckAccessRequest {}).await.unwrap().into_inner().company_id;
    assert_ne!(company, ground.owner);
}

async fn list_affiliates(ground: &mut Ground) {
    let mut list = ground.grpc.affiliates.list_affiliates(ListAffiliatesRequest {}).await.unwrap().into_inner();
    while let Some(some) = list.message().await.unwrap() {
        assert_eq!(some.affiliates, []);
    }
}

async fn get_affiliate(ground: &mut Ground) {
    let request = GetAffiliateRequest { id: ground.affiliate };
    refused(ground.grpc.affiliates.get_affiliate(request).await, "AFFILIATE_NOT_FOUND");
}

async fn batch_get_affiliates(ground: &mut Ground) {
    let request = BatchGetAffiliatesRequest { ids: vec![ground.affiliate] };
    assert_eq!(ground.grpc.affiliates.batch_get_affiliates(request).await.unwrap().into_inner().affiliates, []);
}

/// The owner's name and identifier are free for others.
async fn create_affiliate(ground: &mut Ground) {
    let request = CreateAffiliateRequest { affiliate: Some(input(OWNED_CLIENT_ID, OWNED_NAME)) };
    let made = ground.grpc.affiliates.create_affiliate(request).await.unwrap().into_inner();
    assert_ne!(made.affiliate_id, ground.affiliate);
}

async fn batch_create_affiliates(ground: &mut Ground) {
    let request = BatchCreateAffiliatesRequest { affiliates: vec![input(OWNED_CLIENT_ID, OWNED_NAME)] };
    let made = ground.grpc.affiliates.batch_create_affiliates(request).await.unwrap().into_inner();
    assert_eq!(made.results[0].code, 1020);
    assert_ne!(made.results[0].affiliate_id, Some(ground.affiliate));
}

async fn update_affiliate(ground: &mut Ground) {
    let request = UpdateAffiliateRequest { update: Some(update(ground.affiliate)) };
    refused(ground.grpc.affiliates.update_affiliate(request).await, "AFFILIATE_NOT_FOUND");
}

async fn batch_update_affiliates(ground: &mut Ground) {
    // The owner's affiliate is no anchor …
    let affiliates = vec![update(ground.affiliate)];
    let request = BatchUpdateAffiliatesRequest { anchor_id: Some(ground.affiliate), affiliates: affiliates.clone() };
    refused(ground.grpc.affiliates.batch_update_affiliates(request).await, "AFFILIATE_NOT_FOUND");
    // … and no item; alone, with a new name, and twice, which each is another way through the store.
    let renamed = AffiliateUpdate { affiliate: Some(input("S", "New")), ..update(ground.affiliate) };
    for affiliates in [affiliates, vec![renamed.clone(), update(ground.affiliate)], vec![renamed.clone(), renamed]] {
        let request = BatchUpdateAffiliatesRequest { anchor_id: None, affiliates };
        let done = ground.grpc.affiliates.batch_update_affiliates(request).await.unwrap().into_inner();
        assert!(done.results.iter().all(|result| result.code == 1025), "{done:?}");
    }
}

async fn list_urls(ground: &mut Ground) {
    for distributor_id in [None, Some(ground.affiliate)] {
        for discovery_after in [None, Some("2000-01-01".to_owned())] {
            let request = ListComplianceUrlsRequest { distributor_id, discovery_after, ..Default::default() };
            let page = ground.grpc.urls.list_compliance_urls(request).await.unwrap().into_inner();
            assert_eq!((page.urls.len(), page.meta.unwrap().total), (0, 0));
        }
    }
}

async fn get_url(ground: &mut Ground) {
    let request = GetComplianceUrlRequest { id: ground.url };
    refused(ground.grpc.urls.get_compliance_url(request).await, "URL_NOT_FOUND");
}

async fn batch_get_urls(ground: &mut Ground) {
    let request = BatchGetComplianceUrlsRequest { ids: vec![ground.url] };
    assert_eq!(ground.grpc.urls.batch_get_compliance_urls(request).await.unwrap().into_inner().urls, []);
}

async fn add_urls(ground: &mut Ground) {
    let request = AddComplianceUrlsRequest { urls: vec![UrlInput { url: Some(OWNED_URL.to_owned()) }] };
    let added = ground.grpc.urls.add_compliance_urls(request).await.unwrap().into_inner();
    assert_eq!(added.results[0].code, 1020);
    assert_ne!(added.results[0].url_id, Some(ground.url));
}

async fn list_cases(ground: &mut Ground) {
    for distributor_id in [None, Some(ground.affiliate)] {
        for created_after in [None, Some("2000-01-01".to_owned())] {
            let request = ListComplianceCasesRequest { distributor_id, created_after, ..Default::default() };
            let page = ground.grpc.cases.list_compliance_cases(request).await.unwrap().into_inner();
            assert_eq!((page.cases.len(), page.meta.unwrap().total), (0, 0));
        }
    }
}

async fn get_case(ground: &mut Ground) {
    let request = GetComplianceCaseRequest { case_id: ground.case };
    refused(ground.grpc.cases.get_compliance_case(request).await, "CASE_NOT_FOUND");
}

async fn batch_get_cases(ground: &mut Ground) {
    let request = BatchGetComplianceCasesRequest { ids: vec![ground.case] };
    assert_eq!(ground.grpc.cases.batch_get_compliance_cases(request).await.unwrap().into_inner().cases, []);
}
