//! Tests observations, and the resulting URLs that partners read.

use compliance_api::{
    rules::Check as _,
    v1::{ComplianceUrl, Infraction, ObserveUrlsRequest, ResultCode, UrlObservation},
};

use test_support::{TestCore, now};

use super::builders::{at, infraction, observation, some, violations};

fn full() -> (UrlObservation, ComplianceUrl) {
    let observation = UrlObservation {
        url: some("https://Shop.Example.com/offer?x=1"),
        incident_status: some("In Violation"),
        disabled: Some(true),
        false_positive: Some(false),
        country: some("de"),
        discovery_date: Some(at("2024-05-01 10:00:00")),
        last_review_date: Some(at("2024-05-02 10:00:00")),
        last_crawl_date: Some(at("2024-05-03 10:00:00")),
        last_seen: Some(prost_types::Timestamp { nanos: 999_999_999, ..at("2024-05-04 10:00:00") }),
        client_affiliate_id: some("A"),
        affiliate_id: None,
        sub_affiliate_id: some("sub-1"),
        owner_email: some("owner@example.com"),
        social_one: some("https://social.example/1"),
        social_two: some("https://social.example/2"),
        social_three: some("@three"),
        phone_one: some("+1 555 0100"),
        phone_two: some("+1 555 0101"),
        landing_page: some("https://landing.example/"),
        note: some("naïve — 注"),
        video_path: some("/videos/1.mp4"),
        transcription_text: some("hello"),
        transcription_status: some("Completed"),
        infractions: vec![infraction("Health Claim", "weight loss")],
        clear: vec![],
    };
    let expected = ComplianceUrl {
        id: 0,
        url: "https://Shop.Example.com/offer?x=1".into(),
        domain: some("shop.example.com"),
        incident_status: some("In Violation"),
        disabled: true,
        false_positive: Some(false),
        country: some("Germany"),
        discovery_date: Some(at("2024-05-01 10:00:00")),
        last_review_date: Some(at("2024-05-02 10:00:00")),
        last_crawl_date: Some(at("2024-05-03 10:00:00")),
        last_seen: Some(at("2024-05-04 10:00:00")),
        affiliate_name: some("A"),
        affiliate_id: some("A"),
        sub_affiliate_id: some("sub-1"),
        owner_email: some("owner@example.com"),
        social_one: some("https://social.example/1"),
        social_two: some("https://social.example/2"),
        social_three: some("@three"),
        phone_one: some("+1 555 0100"),
        phone_two: some("+1 555 0101"),
        landing_page: some("https://landing.example/"),
        case_id: None,
        note: some("naïve — 注"),
        video_path: some("/videos/1.mp4"),
        transcription_text: some("hello"),
        transcription_status: some("Completed"),
        infractions: vec![],
        etag: "1".to_owned(),
        affiliate_etag: "1".to_owned(),
    };
    (observation, expected)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observed_urls_keep_every_field() {
    fields_are_read_as_observed(&TestCore::start().await).await;
}

/// Observes a URL with every field and reads it back.
pub(super) async fn fields_are_read_as_observed(service: &TestCore) {
    let mut company = service.company(1);
    company.affiliate("A").await;
    let (observation, expected) = full();
    let id = company.observe_one(observation.clone()).await;
    let read = company.url(id).await;
    assert_eq!(ComplianceUrl { infractions: vec![], ..read.clone() }, ComplianceUrl { id, ..expected });
    assert_eq!(read.infractions[0].infraction_name.as_deref(), Some("weight loss"));

    // Repeating the observation changes nothing. A URL without these fields receives all of them.
    assert_eq!(company.observe_one(observation.clone()).await, id);
    assert_eq!(company.url(id).await, read);
    let bare = company.observe_one(super::builders::observation("https://bare.example/")).await;
    company.observe_one(UrlObservation { url: some("https://bare.example/"), ..observation }).await;
    let (domain, url) = (some("bare.example"), "https://bare.example/".to_owned());
    let written = company.url(bare).await;
    assert_eq!(
        ComplianceUrl { infractions: vec![], ..written },
        ComplianceUrl { id: bare, domain, url, infractions: vec![], etag: "2".to_owned(), ..read }
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_cleared_fields_become_null() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let (full, _) = full();
    let url = full.url.clone().unwrap();
    let id = company.observe_one(full).await;
    let before = company.url(id).await;
    company.observe_one(observation(&url)).await;
    assert_eq!(company.url(id).await, before);

    let names = [
        "false_positive",
        "country",
        "last_review_date",
        "last_crawl_date",
        "last_seen",
        "client_affiliate_id",
        "sub_affiliate_id",
        "owner_email",
        "social_one",
        "social_two",
        "social_three",
        "phone_one",
        "phone_two",
        "landing_page",
        "note",
        "video_path",
        "transcription_text",
        "transcription_status",
    ];
    let clear = names.map(str::to_owned).to_vec();
    company.observe_one(UrlObservation { clear, ..observation(&url) }).await;
    let cleared = ComplianceUrl {
        id,
        url: before.url.clone(),
        domain: before.domain.clone(),
        incident_status: before.incident_status.clone(),
        disabled: true,
        discovery_date: before.discovery_date,
        infractions: before.infractions.clone(),
        etag: "2".to_owned(),
        ..ComplianceUrl::default()
    };
    assert_eq!(company.url(id).await, cleared);

    // An empty string clears the field, unless the field cannot be cleared.
    let item = UrlObservation { note: some(""), incident_status: some(""), ..observation(&url) };
    let result = company.observe(vec![item]).await.pop().unwrap();
    assert_eq!(violations(&result.violations), [("incident_status", "The incident status field cannot be cleared.")]);
    let both = UrlObservation { note: some("x"), clear: vec!["note".into(), "url".into()], ..observation(&url) };
    let result = company.observe(vec![both]).await.pop().unwrap();
    let allowed = UrlObservation::MESSAGE.field("clear").unwrap().one_of.join(", ");
    let clear = format!("The selected clear.1 is invalid. It must be one of: {allowed}.");
    let expected = [("clear.1", clear.as_str()), ("note", "The note field must not be both given and cleared.")];
    assert_eq!(violations(&result.violations), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_urls_get_default_values() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let result = company.observe(vec![observation("http://example.org")]).await.pop().unwrap();
    assert!(result.created);
    let read = company.url(result.url_id.unwrap()).await;
    assert!(now() - read.discovery_date.unwrap().seconds < 60);
    let expected = ComplianceUrl {
        id: result.url_id.unwrap(),
        url: "http://example.org".into(),
        domain: some("example.org"),
        incident_status: some("New"),
        discovery_date: read.discovery_date,
        etag: "1".to_owned(),
        ..ComplianceUrl::default()
    };
    assert_eq!(read, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equivalent_urls_share_one_record() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let first = company.observe_one(observation("https://example.org")).await;
    let second = UrlObservation { note: some("seen"), ..observation("HTTPS://EXAMPLE.ORG:443/") };
    let result = company.observe(vec![second]).await.pop().unwrap();
    assert_eq!((result.url_id, result.created), (Some(first), false));
    let read = company.url(first).await;
    assert_eq!((read.url.as_str(), read.note.as_deref()), ("https://example.org", Some("seen")));
    // A corrected discovery date replaces the old one.
    let corrected = UrlObservation { discovery_date: Some(at("2020-01-01 00:00:00")), ..observation(&read.url) };
    company.observe_one(corrected).await;
    assert_eq!(company.url(first).await.discovery_date, Some(at("2020-01-01 00:00:00")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn later_observations_in_a_batch_win() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let id = company.affiliate("B").await;
    let with = |affiliate: &str, note: &str, phone: Option<&str>| UrlObservation {
        client_affiliate_id: some(affiliate),
        note: some(note),
        phone_one: phone.map(str::to_owned),
        ..observation("https://example.org/")
    };
    let last = UrlObservation { affiliate_id: Some(id), ..observation("https://example.org/") };
    let results =
        company.observe(vec![with("A", "1", Some("5")), with("nobody", "2", None), with("A", "3", None), last]).await;
    let codes: Vec<ResultCode> = results.iter().map(compliance_api::v1::ObservationResult::code).collect();
    assert_eq!(codes, [ResultCode::Saved, ResultCode::NotFound, ResultCode::Saved, ResultCode::Saved]);
    assert_eq!(results.iter().map(|result| result.created).collect::<Vec<_>>(), [true, false, false, false]);
    let read = company.url(results[0].url_id.unwrap()).await;
    assert_eq!((read.note.as_deref(), read.phone_one.as_deref()), (Some("3"), Some("5")));
    assert_eq!(read.affiliate_name.as_deref(), Some("B"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_items_do_not_fail_the_batch() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let items = vec![
        observation("https://good.example/1"),
        UrlObservation { incident_status: some("Sleeping"), ..observation("https://bad.example/") },
        observation("nothing"),
        UrlObservation::default(),
        UrlObservation {
            country: some("QQ"),
            owner_email: some("nobody"),
            phone_one: Some("5".repeat(129)),
            last_seen: Some(prost_types::Timestamp { seconds: i64::MAX, nanos: 0 }),
            infractions: vec![infraction("Promotion", "weight loss"), infraction("", "x")],
            affiliate_id: Some(1),
            client_affiliate_id: some("A"),
            ..observation("https://bad.example/2")
        },
        observation("https://good.example/2"),
    ];
    let results = company.observe(items).await;
    let saved: Vec<bool> = results.iter().map(|result| result.code() == ResultCode::Saved).collect();
    assert_eq!(saved, [true, false, false, false, false, true]);
    let known = "The selected incident status is invalid. It must be one of: New, Open, In Violation, Approved, Remediated, Archived.";
    assert_eq!(violations(&results[1].violations), [("incident_status", known)]);
    assert_eq!(results[1].msg, known);
    assert_eq!(violations(&results[2].violations), [("url", "The url field must be a valid URL.")]);
    assert_eq!(violations(&results[3].violations), [("url", "The url field is required.")]);
    let paths: Vec<&str> = violations(&results[4].violations).into_iter().map(|(path, _)| path).collect();
    let expected = [
        "country",
        "last_seen",
        "owner_email",
        "phone_one",
        "infractions.1.infraction_type",
        "infractions.0.infraction_name",
        "infractions.1.infraction_type",
        "affiliate_id",
    ];
    assert!(expected.iter().all(|path| paths.contains(path)), "{paths:?}");
    let name = &results[4].violations.iter().find(|violation| violation.field.ends_with("0.infraction_name")).unwrap();
    assert!(
        name.description.ends_with("It must be one of: expired promo code, misleading offer, incentivised traffic.")
    );
    assert_eq!(results[4].code(), ResultCode::UpdateFailed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_affiliates_fail_only_their_item() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    company.affiliate("A").await;
    let with = |affiliate: &str, url: &str| UrlObservation {
        client_affiliate_id: some(affiliate),
        ..observation(&format!("https://example.org/{url}"))
    };
    let by_id = UrlObservation { affiliate_id: Some(987_654), ..observation("https://example.org/3") };
    let results = company.observe(vec![with("A", "1"), with("nobody", "2"), by_id]).await;
    assert_eq!(results[0].code(), ResultCode::Saved);
    for (result, field) in [(&results[1], "client_affiliate_id"), (&results[2], "affiliate_id")] {
        assert_eq!(result.code(), ResultCode::NotFound);
        assert_eq!(violations(&result.violations), [(field, "No affiliate of the company has this identifier.")]);
    }
    let count: i64 = sqlx::query_scalar("select count(*) from compliance_urls").fetch_one(&service.pool).await.unwrap();
    assert_eq!(count, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observations_record_their_infractions() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let mut first = infraction("Health Claim", "weight loss");
    first.created_date = Some(at("2024-01-01 00:00:00"));
    let mut kind = infraction("Promotion", "");
    kind.infraction_name = None;
    let item = |infractions| UrlObservation { infractions, ..observation("https://example.org/") };
    let id = company.observe_one(item(vec![first.clone(), kind])).await;
    // The same infraction with a different date is not added again.
    first.created_date = Some(at("2025-01-01 00:00:00"));
    company.observe_one(item(vec![infraction("Recruiting", "cross-recruiting"), first.clone(), first])).await;
    let read = company.url(id).await.infractions;
    let expected = |kind: &str, name: Option<&str>, index: usize| Infraction {
        infraction_type: some(kind),
        infraction_name: name.map(str::to_owned),
        created_date: read[index].created_date,
    };
    assert_eq!(
        read,
        [
            expected("Health Claim", Some("weight loss"), 0),
            expected("Promotion", None, 1),
            expected("Recruiting", Some("cross-recruiting"), 2)
        ]
    );
    assert_eq!(read[0].created_date, Some(at("2024-01-01 00:00:00")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_url_ids_follow_request_order() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let observations = (0..100).map(|number| observation(&format!("https://example.com/{number}"))).collect();
    let observed = company.monitoring.observe_urls(ObserveUrlsRequest { observations }).await.unwrap().into_inner();
    let ids: Vec<i64> = observed.results.iter().map(|result| result.url_id.unwrap()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}
