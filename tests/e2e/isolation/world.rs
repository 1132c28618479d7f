//! Two companies: an owner with a record of each kind, and a stranger without any.

use compliance_api::v1::{AffiliateInput, CaseInput, CreateAffiliateRequest};
use sqlx::PgPool;
use test_support::{GrpcClients, RestClient, TestService, new_company};

use super::rows_of;

/// What an operation is called on.
pub(super) struct World {
    pub(super) owner: i64,
    pub(super) stranger: i64,
    /// Where the core serves gRPC.
    pub(super) core: std::net::SocketAddr,
    /// The owner's records.
    pub(super) affiliate: i64,
    pub(super) url: i64,
    pub(super) case: i64,
    pub(super) incident: i64,
    /// Clients of the stranger.
    pub(super) grpc: GrpcClients,
    pub(super) rest: [RestClient; 2],
    pool: PgPool,
}

pub(super) const OWNED_NAME: &str = "Owned";
pub(super) const OWNED_CLIENT_ID: &str = "OWN-1";
pub(super) const OWNED_URL: &str = "https://owned.example/";
pub(super) const OWNED_REQUEST: &str = "REQ-1";
/// A case status that the owner added.
pub(super) const OWNED_STATUS: &str = "Owned Status";

impl World {
    pub(super) async fn new(service: &TestService) -> Self {
        let (owner, stranger) = (new_company(), new_company());
        let pool = service.pool.clone();
        let mut owners = service.grpc(owner).await;
        let affiliate = AffiliateInput {
            client_affiliate_id: Some(OWNED_CLIENT_ID.to_owned()),
            affiliate_name: Some(OWNED_NAME.to_owned()),
            ..AffiliateInput::default()
        };
        let request = CreateAffiliateRequest { affiliate: Some(affiliate) };
        let affiliate = owners.affiliates.create_affiliate(request).await.unwrap().into_inner().affiliate_id;
        let urls = vec![compliance_api::v1::UrlInput { url: Some(OWNED_URL.to_owned()) }];
        let added = owners.urls.add_compliance_urls(compliance_api::v1::AddComplianceUrlsRequest { urls }).await;
        let url = added.unwrap().into_inner().results[0].url_id.unwrap();
        let case: i64 = sqlx::query_scalar(
            "insert into compliance_cases (company_id, affiliate_id, request_id) values ($1, $2, $3) returning id",
        )
        .bind(owner)
        .bind(affiliate)
        .bind(OWNED_REQUEST)
        .fetch_one(&pool)
        .await
        .unwrap();
        let incident = sqlx::query_scalar(
            "insert into incidents (company_id, case_id, incident_type, url_id) values ($1, $2, 1, $3) returning id",
        )
        .bind(owner)
        .bind(case)
        .bind(url)
        .fetch_one(&pool)
        .await
        .unwrap();
        for statement in [
            "update compliance_urls set case_id = $2, affiliate_id = $3 where company_id = $1",
            "insert into infractions (company_id, url_id, infraction_type_id, infraction_name_id)
                select $1, id, 2, 8 from compliance_urls where company_id = $1 and $2 > 0 and $3 > 0",
            "insert into vocabulary_entries (company_id, vocabulary, id, name)
                select $1, 1, 1000, 'Owned Status' where $2 > 0 and $3 > 0",
        ] {
            sqlx::query(statement).bind(owner).bind(case).bind(affiliate).execute(&pool).await.unwrap();
        }
        let rest = [service.rest(stranger), service.rest_remote(stranger)];
        let (core, grpc) = (service.grpc, service.grpc(stranger).await);
        Self { owner, stranger, core, affiliate, url, case, incident, grpc, rest, pool }
    }

    /// An affiliate of the stranger's own, as a case names it.
    pub(super) async fn affiliate_of_the_stranger(&mut self) -> CaseInput {
        let affiliate = AffiliateInput {
            client_affiliate_id: Some("S-1".to_owned()),
            affiliate_name: Some("Stranger".to_owned()),
            ..AffiliateInput::default()
        };
        let request = CreateAffiliateRequest { affiliate: Some(affiliate) };
        let made = self.grpc.affiliates.create_affiliate(request).await.unwrap().into_inner();
        CaseInput { affiliate_id: Some(made.affiliate_id), ..CaseInput::default() }
    }

    /// Every row of the owner in every table there is.
    pub(super) async fn rows_of_the_owner(&self) -> String {
        rows_of(&self.pool, self.owner).await
    }
}
