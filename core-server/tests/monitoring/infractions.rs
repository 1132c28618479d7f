//! Tests recording and withdrawing infractions.

use compliance_api::v1::{
    InfractionInput, InfractionResult, RecordInfractionsRequest, UrlInfraction, WithdrawInfractionsRequest,
};

use test_support::{GrpcClients, TestCore};

use super::builders::{at, infraction, observation, some, text, violations};

async fn record(company: &mut GrpcClients, infractions: Vec<UrlInfraction>) -> Vec<InfractionResult> {
    let request = RecordInfractionsRequest { infractions };
    company.monitoring.record_infractions(request).await.unwrap().into_inner().results
}

async fn withdraw(company: &mut GrpcClients, infractions: Vec<UrlInfraction>) -> Vec<InfractionResult> {
    let request = WithdrawInfractionsRequest { infractions };
    company.monitoring.withdraw_infractions(request).await.unwrap().into_inner().results
}

fn of(url: &str, infraction: InfractionInput) -> UrlInfraction {
    UrlInfraction { url_id: None, url: some(url), infraction: Some(infraction) }
}

fn changed(results: &[InfractionResult]) -> Vec<bool> {
    assert!(results.iter().all(|result| result.code == 1020), "{results:?}");
    results.iter().map(|result| result.changed).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_infractions_can_be_withdrawn() {
    record_and_withdraw(&TestCore::start().await).await;
}

/// Records infractions and then withdraws them.
pub(super) async fn record_and_withdraw(service: &TestCore) {
    let mut company = service.company(1);
    let url_id = company.observe_one(observation("https://example.org/")).await;
    let dated =
        InfractionInput { created_date: Some(at("2024-03-01 00:00:00")), ..infraction("Trademark", "domain misuse") };
    let bare = InfractionInput { infraction_name: None, ..infraction("Trademark", "") };
    let items = || {
        vec![
            of("https://example.org", dated.clone()),
            UrlInfraction {
                url_id: Some(url_id),
                url: None,
                infraction: Some(infraction("Trademark", "domain misuse")),
            },
            of("https://example.org/", bare.clone()),
        ]
    };
    assert_eq!(changed(&record(&mut company, items()).await), [true, false, true]);
    let read = company.url(url_id).await.infractions;
    assert_eq!(read.len(), 2);
    assert_eq!(text(read[0].created_date.as_ref()).as_deref(), Some("2024-03-01 00:00:00"));
    assert_eq!((read[1].infraction_type.as_deref(), read[1].infraction_name.as_deref()), (Some("Trademark"), None));
    assert_eq!(changed(&record(&mut company, items()).await), [false; 3]);
    assert_eq!(company.url(url_id).await.infractions, read);

    assert_eq!(changed(&withdraw(&mut company, vec![of("https://example.org/", bare.clone())]).await), [true]);
    assert_eq!(company.url(url_id).await.infractions, read[..1]);
    assert_eq!(changed(&withdraw(&mut company, items()).await), [true, false, false]);
    assert_eq!(company.url(url_id).await.infractions, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_infractions_do_not_fail_the_batch() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.observe_one(observation("https://example.org/")).await;
    let good = infraction("Trademark", "domain misuse");
    let items = vec![
        of("https://unknown.example/", good.clone()),
        UrlInfraction { url_id: Some(99_999), url: None, infraction: Some(good.clone()) },
        UrlInfraction { url_id: Some(1), ..of("https://example.org/", good.clone()) },
        UrlInfraction { url_id: None, url: None, infraction: Some(good.clone()) },
        of("https://example.org/", infraction("Trademark", "weight loss")),
        UrlInfraction { infraction: None, ..of("https://example.org/", good.clone()) },
        of("https://example.org/", good),
    ];
    let results = record(&mut company, items.clone()).await;
    let codes: Vec<i32> = results.iter().map(|result| result.code).collect();
    assert_eq!(codes, [1025, 1025, 1021, 1021, 1021, 1021, 1020]);
    let paths: Vec<&str> =
        results.iter().flat_map(|result| violations(&result.violations)).map(|(path, _)| path).collect();
    assert_eq!(paths, ["url", "url_id", "url_id", "url", "infraction_name", "infraction_type"]);
    let again: Vec<i32> = withdraw(&mut company, items).await.iter().map(|result| result.code).collect();
    assert_eq!(again, codes);
}
