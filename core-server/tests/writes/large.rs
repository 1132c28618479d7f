//! Tests large requests for one record or for existing records: no operation loops over all pairs of items. Such a loop takes a hundred
//! times as long for ten times as many items, about 40 s for ten thousand.

use std::time::{Duration, Instant};

use compliance_api::v1::{
    AddVocabularyEntriesRequest, AffiliateInput, AttachIncidentsRequest, BatchOpenCasesRequest, CaseInput,
    DetachIncidentsRequest, IncidentInput, IncidentKey, IncidentType, InfractionInput, ObserveUrlsRequest,
    OpenCaseRequest, RecordInfractionsRequest, ResultCode, UrlInfraction, UrlObservation, VocabularyEntryInput,
    VocabularyKind,
};
use test_support::{GrpcClients, TestCore, named, new_company};

const FEW: usize = 1_000;
const MANY: usize = 10 * FEW;
/// Items per request, for operations on one case or on names.
const PART: usize = 1_000;
/// Maximum ratio of the times for many and for few items, less than half the ratio of a loop over pairs.
const MOST_TIMES: u32 = 40;
/// Maximum number of runs. Other work slows down some of them, and a loop over pairs slows down all.
const ROUNDS: usize = 5;

/// Durations of the steps.
#[derive(Default)]
struct Steps(Vec<(&'static str, Duration)>);

impl Steps {
    fn took(&mut self, start: Instant, what: &'static str) {
        self.0.push((what, start.elapsed()));
    }
}

/// Runs the steps with few and with many items until each step was fast enough once.
async fn compare(steps: impl AsyncFn(usize) -> Steps) {
    let mut passed = Vec::new();
    for _ in 0..ROUNDS {
        let (few, many) = (steps(FEW).await, steps(MANY).await);
        assert!(!few.0.is_empty() && few.0.len() == many.0.len());
        passed.resize(few.0.len(), false);
        for (passed, ((what, few), (_, many))) in passed.iter_mut().zip(few.0.iter().zip(&many.0)) {
            println!("{what}: {few:?}, and {many:?} for ten times as many");
            *passed |= *many < *few * MOST_TIMES;
        }
        if passed.iter().all(|passed| *passed) {
            return;
        }
    }
    panic!("in all {ROUNDS} rounds, a step took over {MOST_TIMES} times as long for ten times as many items");
}

fn url(number: usize) -> String {
    format!("https://example.org/{number}")
}

async fn observe(clients: &mut GrpcClients, items: usize, observation: impl Fn(usize) -> UrlObservation) {
    let request = ObserveUrlsRequest { observations: (0..items).map(observation).collect() };
    let results = clients.monitoring.observe_urls(request).await.unwrap().into_inner().results;
    assert_eq!(results.iter().filter(|result| result.code() == ResultCode::Saved).count(), items);
}

/// The first write plans the triggers' statements, before any row is updated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn observation_batches_scale_linearly() {
    compare(observations_of).await;
}

async fn observations_of(items: usize) -> Steps {
    let mut steps = Steps::default();
    let core = TestCore::start().await;
    let mut clients = core.company(new_company());
    clients.create_affiliates(["A", "B"].map(named).into()).await;
    let of = |number: usize, note: &str| UrlObservation {
        url: Some(url(number)),
        note: Some(note.to_owned()),
        ..UrlObservation::default()
    };
    let start = Instant::now();
    observe(&mut clients, items, |number| of(number, "new")).await;
    steps.took(start, "new URLs");
    let start = Instant::now();
    observe(&mut clients, items, |number| of(number, "known")).await;
    steps.took(start, "known URLs");
    let start = Instant::now();
    observe(&mut clients, items, |number| UrlObservation {
        client_affiliate_id: Some(["A", "B"][number % 2].to_owned()),
        ..of(1, &number.to_string())
    })
    .await;
    steps.took(start, "one URL for two alternating affiliates");
    steps
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn case_and_infraction_batches_scale_linearly() {
    compare(cases_and_infractions_of).await;
}

async fn cases_and_infractions_of(items: usize) -> Steps {
    let mut steps = Steps::default();
    let core = TestCore::start().await;
    let mut clients = core.company(new_company());
    clients.affiliate("A").await;
    clients.add_urls((0..items).map(url)).await;
    let start = Instant::now();
    let cases = (0..items).map(|number| OpenCaseRequest {
        request_id: Some(number.to_string()),
        case: Some(CaseInput { client_affiliate_id: Some("A".to_owned()), ..CaseInput::default() }),
        incidents: vec![IncidentInput {
            incident_type: IncidentType::Url.into(),
            url: Some(url(number)),
            ..IncidentInput::default()
        }],
        ..OpenCaseRequest::default()
    });
    let request = BatchOpenCasesRequest { cases: cases.collect() };
    let results = clients.monitoring.batch_open_cases(request).await.unwrap().into_inner().results;
    assert!(results.iter().all(|result| result.created));
    steps.took(start, "cases with one incident each");
    let start = Instant::now();
    let infractions = (0..items).map(|_| UrlInfraction {
        url: Some(url(7)),
        infraction: Some(InfractionInput {
            infraction_type: Some("Health Claim".to_owned()),
            ..InfractionInput::default()
        }),
        ..UrlInfraction::default()
    });
    let request = RecordInfractionsRequest { infractions: infractions.collect() };
    let results = clients.monitoring.record_infractions(request).await.unwrap().into_inner().results;
    assert_eq!(results.iter().filter(|result| result.changed).count(), 1);
    steps.took(start, "one infraction many times");
    steps
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn duplicate_item_batches_scale_linearly() {
    compare(equal_items_of).await;
}

async fn equal_items_of(items: usize) -> Steps {
    let mut steps = Steps::default();
    let core = TestCore::start().await;
    let mut clients = core.company(new_company());
    let start = Instant::now();
    let results = clients.add_urls((0..2 * items).map(|_| url(1))).await;
    assert_eq!(results.iter().filter(|result| result.url_id.is_some()).count(), 1);
    steps.took(start, "one URL many times");
    let start = Instant::now();
    let affiliates = (0..2 * items).map(|number| AffiliateInput {
        client_affiliate_id: Some(number.to_string()),
        affiliate_name: Some("One".to_owned()),
        ..AffiliateInput::default()
    });
    let results = clients.create_affiliates(affiliates.collect()).await;
    assert_eq!(results.iter().filter(|result| result.affiliate_id.is_some()).count(), 1);
    steps.took(start, "one name many times");
    steps
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn incident_batches_scale_linearly() {
    compare(incidents_of).await;
}

async fn incidents_of(items: usize) -> Steps {
    let mut steps = Steps::default();
    let core = TestCore::start().await;
    let mut clients = core.company(new_company());
    clients.affiliate("A").await;
    clients.add_urls((0..items).map(url)).await;
    let case = OpenCaseRequest {
        request_id: Some("1".to_owned()),
        case: Some(CaseInput { client_affiliate_id: Some("A".to_owned()), ..CaseInput::default() }),
        ..OpenCaseRequest::default()
    };
    let case_id = clients.monitoring.open_case(case).await.unwrap().into_inner().case_id;

    // Every second incident contains a URL, so both unique keys are used.
    let content = |number: usize| {
        let is_url = number.is_multiple_of(2);
        let kind = if is_url { IncidentType::Url } else { IncidentType::Form };
        (kind, is_url.then(|| url(number)), (!is_url).then(|| number.to_string()))
    };
    for infraction in ["Health Claim", "Promotion"] {
        let start = Instant::now();
        for part in 0..items / PART {
            let incidents = (part * PART..(part + 1) * PART).map(|number| {
                let (kind, url, reference) = content(number);
                let infraction_type = Some(infraction.to_owned());
                IncidentInput {
                    incident_type: kind.into(),
                    url,
                    reference,
                    infraction_type,
                    ..IncidentInput::default()
                }
            });
            let request = AttachIncidentsRequest { id: case_id, incidents: incidents.collect() };
            let results = clients.monitoring.attach_incidents(request).await.unwrap().into_inner().results;
            assert_eq!(results.iter().filter(|result| result.changed).count(), PART);
        }
        steps.took(start, "incidents attached or changed");
    }
    let start = Instant::now();
    for part in 0..items / PART {
        let incidents = (part * PART..(part + 1) * PART).map(|number| {
            let (kind, url, reference) = content(number);
            IncidentKey { incident_type: Some(kind.into()), url, reference, ..IncidentKey::default() }
        });
        let request = DetachIncidentsRequest { id: case_id, incidents: incidents.collect() };
        let results = clients.monitoring.detach_incidents(request).await.unwrap().into_inner().results;
        assert_eq!(results.iter().filter(|result| result.changed).count(), PART);
    }
    steps.took(start, "incidents detached");
    steps
}

/// Half of the names are types, and the others belong to types in the same request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a long test: tools/scripts/test-long runs it"]
async fn vocabulary_batches_scale_linearly() {
    compare(names_of).await;
}

async fn names_of(items: usize) -> Steps {
    let mut steps = Steps::default();
    let core = TestCore::start().await;
    let mut clients = core.company(new_company());
    for created in [PART, 0] {
        let start = Instant::now();
        for part in 0..items / PART {
            let entries = (0..PART).map(|number| {
                let kind = |number: usize| format!("type {part}, {number}");
                if number.is_multiple_of(2) {
                    let vocabulary = VocabularyKind::InfractionType.into();
                    VocabularyEntryInput { vocabulary, name: Some(kind(number)), infraction_type: None }
                } else {
                    let vocabulary = VocabularyKind::InfractionName.into();
                    let name = Some(format!("name {number}"));
                    VocabularyEntryInput { vocabulary, name, infraction_type: Some(kind(PART - 1 - number)) }
                }
            });
            let request = AddVocabularyEntriesRequest { entries: entries.collect() };
            let results = clients.monitoring.add_vocabulary_entries(request).await.unwrap().into_inner().results;
            assert!(results.iter().all(|result| result.code() == ResultCode::Saved));
            assert_eq!(results.iter().filter(|result| result.created).count(), created);
        }
        steps.took(start, "new or existing names");
    }
    steps
}
