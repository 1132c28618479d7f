//! Tests searches in databases with a different locale.

use compliance_api::v1::{AffiliateInput, CreateAffiliateRequest, SearchAffiliatesRequest};
use test_support::{TestCore, fresh_database, new_company};

/// In Turkish, the lowercase form of `I` is `ı`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn email_search_works_in_turkish_locales() {
    let core = TestCore::over(fresh_database().await.options, 4).await;
    let turkish = "alter table affiliates alter column email_one type text collate \"tr-x-icu\",
        alter column email_two type text collate \"tr-x-icu\"";
    sqlx::raw_sql(turkish).execute(&core.pool).await.unwrap();
    let mut company = core.company(new_company());
    let affiliate = AffiliateInput {
        client_affiliate_id: Some("A".to_owned()),
        affiliate_name: Some("A".to_owned()),
        email_one: Some("ILYAS@EXAMPLE.ORG".to_owned()),
        ..AffiliateInput::default()
    };
    company.affiliates.create_affiliate(CreateAffiliateRequest { affiliate: Some(affiliate) }).await.unwrap();
    for q in ["ilyas@example.org", "ILYAS@EXAMPLE.ORG", "ilyas", "EXAMPLE org"] {
        let request = SearchAffiliatesRequest { q: q.to_owned(), limit: None };
        let found = company.affiliates.search_affiliates(request).await.unwrap().into_inner().affiliates;
        assert_eq!(found.len(), 1, "{q}");
    }
}
