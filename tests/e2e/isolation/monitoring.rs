//! What the operations of the internal write side return to a stranger. The stranger has an affiliate of its own where
//! the operation needs one, and the scope.

use compliance_api::v1::{
    AddVocabularyEntriesRequest, AttachIncidentsRequest, BatchOpenCasesRequest, CaseInput, CloseCaseRequest,
    DetachIncidentsRequest, ExportCasesRequest, ExportUrlsRequest, IncidentInput, IncidentKey, IncidentType,
    InfractionInput, ListVocabulariesRequest, ObserveUrlsRequest, OpenCaseRequest, RecordInfractionsRequest,
    ReopenCaseRequest, ResolveCaseRequest, StreamUrlObservationsRequest, UpdateCaseRequest, UrlInfraction,
    UrlObservation, VocabularyEntryInput, VocabularyKind, WithdrawInfractionsRequest,
};
use tonic::{Code, Status};

use super::{
    proofs,
    world::{OWNED_CLIENT_ID, OWNED_REQUEST, OWNED_STATUS, OWNED_URL, World},
};

proofs![
    "MonitoringService/ObserveUrls" => observe_urls,
    "MonitoringService/StreamUrlObservations" => stream_url_observations,
    "MonitoringService/ExportUrls" => export_urls,
    "MonitoringService/RecordInfractions" => record_infractions,
    "MonitoringService/WithdrawInfractions" => withdraw_infractions,
    "MonitoringService/OpenCase" => open_case,
    "MonitoringService/BatchOpenCases" => batch_open_cases,
    "MonitoringService/ExportCases" => export_cases,
    "MonitoringService/UpdateCase" => update_case,
    "MonitoringService/ResolveCase" => resolve_case,
    "MonitoringService/CloseCase" => close_case,
    "MonitoringService/ReopenCase" => reopen_case,
    "MonitoringService/AttachIncidents" => attach_incidents,
    "MonitoringService/DetachIncidents" => detach_incidents,
    "MonitoringService/ListVocabularies" => list_vocabularies,
    "MonitoringService/AddVocabularyEntries" => add_vocabulary_entries,
];

const SAVED: i32 = 1020;
const NOT_SAVED: i32 = 1021;
const NOT_FOUND: i32 = 1025;

#[expect(clippy::unnecessary_wraps, reason = "every text of a message may be absent")]
fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn not_found<T: std::fmt::Debug>(answer: Result<T, Status>) {
    assert_eq!(answer.unwrap_err().code(), Code::NotFound);
}

/// An observation of the owner's URL, alone and with each identifier of the owner that a stranger must not find.
fn observations(world: &World) -> Vec<UrlObservation> {
    let observation = UrlObservation { url: text(OWNED_URL), note: text("Seen"), ..UrlObservation::default() };
    let by_id = UrlObservation { affiliate_id: Some(world.affiliate), ..observation.clone() };
    let by_client_id = UrlObservation { client_affiliate_id: text(OWNED_CLIENT_ID), ..observation.clone() };
    let by_status = UrlObservation { incident_status: text(OWNED_STATUS), ..observation.clone() };
    vec![observation, by_id, by_client_id, by_status]
}

const OBSERVED: [i32; 4] = [SAVED, NOT_FOUND, NOT_FOUND, NOT_SAVED];

async fn observe_urls(world: &mut World) {
    let request = ObserveUrlsRequest { observations: observations(world) };
    let results = world.grpc.monitoring.observe_urls(request).await.unwrap().into_inner().results;
    assert_eq!(results.iter().map(|result| result.code).collect::<Vec<_>>(), OBSERVED);
    assert!(results[0].created && results[0].url_id != Some(world.url), "{results:?}");
}

async fn stream_url_observations(world: &mut World) {
    let chunks = futures::stream::iter([StreamUrlObservationsRequest { observations: observations(world) }]);
    let mut answers = world.grpc.monitoring.stream_url_observations(chunks).await.unwrap().into_inner();
    let results = answers.message().await.unwrap().unwrap().results;
    assert_eq!(results.iter().map(|result| result.code).collect::<Vec<_>>(), OBSERVED);
    assert!(results[0].created && results[0].url_id != Some(world.url), "{results:?}");
}

async fn export_urls(world: &mut World) {
    for after_url_id in [None, Some(world.url - 1)] {
        let request = ExportUrlsRequest { after_url_id };
        let mut exported = world.grpc.monitoring.export_urls(request).await.unwrap().into_inner();
        while let Some(some) = exported.message().await.unwrap() {
            assert_eq!(some.observations, []);
        }
    }
}

/// The owner's URL with the infraction that it has and one that it has not.
fn infractions(world: &World) -> Vec<UrlInfraction> {
    let mut infractions = Vec::new();
    for (kind, name) in [("Health Claim", "weight loss"), ("Promotion", "misleading offer")] {
        let infraction =
            Some(InfractionInput { infraction_type: text(kind), infraction_name: text(name), created_date: None });
        let by_id = UrlInfraction { url_id: Some(world.url), url: None, infraction: infraction.clone() };
        infractions.extend([by_id, UrlInfraction { url_id: None, url: text(OWNED_URL), infraction }]);
    }
    infractions
}

async fn record_infractions(world: &mut World) {
    let request = RecordInfractionsRequest { infractions: infractions(world) };
    let results = world.grpc.monitoring.record_infractions(request).await.unwrap().into_inner().results;
    assert_eq!(results.iter().map(|result| result.code).collect::<Vec<_>>(), [NOT_FOUND; 4]);
}

async fn withdraw_infractions(world: &mut World) {
    let request = WithdrawInfractionsRequest { infractions: infractions(world) };
    let results = world.grpc.monitoring.withdraw_infractions(request).await.unwrap().into_inner().results;
    assert_eq!(results.iter().map(|result| result.code).collect::<Vec<_>>(), [NOT_FOUND; 4]);
}

fn opening(affiliate: &CaseInput) -> OpenCaseRequest {
    OpenCaseRequest { request_id: text(OWNED_REQUEST), case: Some(affiliate.clone()), ..OpenCaseRequest::default() }
}

/// The owner's affiliate, by each of its identifiers.
fn owned_affiliates(world: &World) -> [CaseInput; 2] {
    [
        CaseInput { affiliate_id: Some(world.affiliate), ..CaseInput::default() },
        CaseInput { client_affiliate_id: text(OWNED_CLIENT_ID), ..CaseInput::default() },
    ]
}

/// The owner's URL, by its ID and by its text.
fn owned_urls(world: &World) -> [IncidentInput; 2] {
    let incident = IncidentInput { incident_type: IncidentType::Url.into(), ..IncidentInput::default() };
    [IncidentInput { url_id: Some(world.url), ..incident.clone() }, IncidentInput { url: text(OWNED_URL), ..incident }]
}

async fn open_case(world: &mut World) {
    for affiliate in owned_affiliates(world) {
        not_found(world.grpc.monitoring.open_case(opening(&affiliate)).await);
    }
    let own = world.affiliate_of_the_stranger().await;
    for incident in owned_urls(world) {
        let request = OpenCaseRequest { incidents: vec![incident], ..opening(&own) };
        not_found(world.grpc.monitoring.open_case(request).await);
    }
    // The owner's request is not the stranger's.
    let opened = world.grpc.monitoring.open_case(opening(&own)).await.unwrap().into_inner();
    assert!(opened.created && opened.case_id != world.case, "{opened:?}");
}

async fn batch_open_cases(world: &mut World) {
    let own = world.affiliate_of_the_stranger().await;
    let mut cases: Vec<OpenCaseRequest> = owned_affiliates(world).iter().map(opening).collect();
    cases.extend(owned_urls(world).map(|incident| OpenCaseRequest { incidents: vec![incident], ..opening(&own) }));
    for (number, case) in cases.iter_mut().enumerate() {
        case.request_id = Some(format!("own {number}"));
    }
    cases.push(opening(&own));
    let request = BatchOpenCasesRequest { cases };
    let results = world.grpc.monitoring.batch_open_cases(request).await.unwrap().into_inner().results;
    let codes: Vec<i32> = results.iter().map(|result| result.code).collect();
    assert_eq!(codes, [NOT_FOUND, NOT_FOUND, NOT_FOUND, NOT_FOUND, SAVED]);
    assert!(results[4].created && results[4].case_id != Some(world.case), "{results:?}");
}

async fn export_cases(world: &mut World) {
    for after_case_id in [None, Some(world.case - 1)] {
        let request = ExportCasesRequest { after_case_id };
        let mut exported = world.grpc.monitoring.export_cases(request).await.unwrap().into_inner();
        while let Some(some) = exported.message().await.unwrap() {
            assert_eq!(some.cases, []);
        }
    }
}

async fn update_case(world: &mut World) {
    let worker = CaseInput { case_worker: text("Eve"), ..CaseInput::default() };
    for case in [Some(worker), None] {
        let request = UpdateCaseRequest { id: world.case, case, update_mask: None };
        not_found(world.grpc.monitoring.update_case(request).await);
    }
    // A case of the stranger's own does not go to the owner's affiliate.
    let own = world.affiliate_of_the_stranger().await;
    let case_id = world.grpc.monitoring.open_case(opening(&own)).await.unwrap().into_inner().case_id;
    for affiliate in owned_affiliates(world) {
        let request = UpdateCaseRequest { id: case_id, case: Some(affiliate), update_mask: None };
        not_found(world.grpc.monitoring.update_case(request).await);
    }
}

async fn resolve_case(world: &mut World) {
    let request = ResolveCaseRequest { id: world.case, resolved_date: None };
    not_found(world.grpc.monitoring.resolve_case(request).await);
}

async fn close_case(world: &mut World) {
    let request = CloseCaseRequest { id: world.case, ..CloseCaseRequest::default() };
    not_found(world.grpc.monitoring.close_case(request).await);
}

async fn reopen_case(world: &mut World) {
    let request = ReopenCaseRequest { id: world.case, case_status: None };
    not_found(world.grpc.monitoring.reopen_case(request).await);
}

async fn attach_incidents(world: &mut World) {
    let form =
        IncidentInput { incident_type: IncidentType::Form.into(), reference: text("form"), ..IncidentInput::default() };
    let request = AttachIncidentsRequest { id: world.case, incidents: vec![form] };
    not_found(world.grpc.monitoring.attach_incidents(request).await);
    let own = world.affiliate_of_the_stranger().await;
    let case_id = world.grpc.monitoring.open_case(opening(&own)).await.unwrap().into_inner().case_id;
    let request = AttachIncidentsRequest { id: case_id, incidents: owned_urls(world).to_vec() };
    let results = world.grpc.monitoring.attach_incidents(request).await.unwrap().into_inner().results;
    assert_eq!(results.iter().map(|result| result.code).collect::<Vec<_>>(), [NOT_FOUND; 2]);
}

async fn detach_incidents(world: &mut World) {
    let incidents = vec![
        IncidentKey { incident_id: Some(world.incident), ..IncidentKey::default() },
        IncidentKey {
            incident_type: Some(IncidentType::Url.into()),
            url_id: Some(world.url),
            ..IncidentKey::default()
        },
    ];
    let request = DetachIncidentsRequest { id: world.case, incidents: incidents.clone() };
    not_found(world.grpc.monitoring.detach_incidents(request).await);
    let own = world.affiliate_of_the_stranger().await;
    let case_id = world.grpc.monitoring.open_case(opening(&own)).await.unwrap().into_inner().case_id;
    let request = DetachIncidentsRequest { id: case_id, incidents };
    let results = world.grpc.monitoring.detach_incidents(request).await.unwrap().into_inner().results;
    assert!(results.iter().all(|result| !result.changed), "{results:?}");
}

async fn list_vocabularies(world: &mut World) {
    let request = ListVocabulariesRequest {};
    let listed = world.grpc.monitoring.list_vocabularies(request).await.unwrap().into_inner().vocabularies;
    let mut entries = listed.iter().flat_map(|vocabulary| &vocabulary.entries);
    assert!(entries.all(|entry| entry.name != OWNED_STATUS && !entry.own), "{listed:?}");
    assert!(listed.iter().any(|vocabulary| vocabulary.entries.iter().any(|entry| entry.name == "In Violation")));
}

async fn add_vocabulary_entries(world: &mut World) {
    let entry = VocabularyEntryInput {
        vocabulary: VocabularyKind::CaseStatus.into(),
        name: text(OWNED_STATUS),
        infraction_type: None,
    };
    let request = AddVocabularyEntriesRequest { entries: vec![entry] };
    let results = world.grpc.monitoring.add_vocabulary_entries(request).await.unwrap().into_inner().results;
    assert!(results[0].code == SAVED && results[0].created, "{results:?}");
}
