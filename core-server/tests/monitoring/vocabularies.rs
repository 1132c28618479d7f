//! Tests listing, extending and using vocabularies.

use compliance_api::v1::{
    AddVocabularyEntriesRequest, CaseInput, ListComplianceUrlsRequest, ListVocabulariesRequest, UrlObservation,
    VocabularyEntryInput, VocabularyEntryResult, VocabularyKind, VocabularyNames,
};

use test_support::{GrpcClients, TestCore};

use super::builders::{infraction, observation, opening, some, violations};

async fn list(company: &mut GrpcClients) -> Vec<VocabularyNames> {
    let list = company.monitoring.list_vocabularies(ListVocabulariesRequest {}).await;
    list.unwrap().into_inner().vocabularies
}

async fn add(company: &mut GrpcClients, entries: Vec<VocabularyEntryInput>) -> Vec<VocabularyEntryResult> {
    let request = AddVocabularyEntriesRequest { entries };
    company.monitoring.add_vocabulary_entries(request).await.unwrap().into_inner().results
}

fn entry(vocabulary: VocabularyKind, name: &str, kind: Option<&str>) -> VocabularyEntryInput {
    let infraction_type = kind.map(str::to_owned);
    VocabularyEntryInput { vocabulary: vocabulary.into(), name: some(name), infraction_type }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_companies_start_with_default_vocabularies() {
    let service = TestCore::start().await;
    let lists = list(&mut service.company(1)).await;
    assert_eq!(lists.iter().map(|list| list.vocabulary).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
    assert!(lists.iter().flat_map(|list| &list.entries).all(|entry| !entry.own && entry.id < 1000));
    let statuses: Vec<(i64, &str)> = lists[0].entries.iter().map(|entry| (entry.id, entry.name.as_str())).collect();
    assert_eq!(statuses[..3], [(1, "New"), (2, "Open"), (3, "In Progress")]);
    let spam = lists[7].entries.iter().find(|entry| entry.name == "click spam").unwrap();
    assert_eq!(spam.infraction_type.as_deref(), Some("Traffic Quality"));
    assert_eq!(lists[8].entries.last().map(|entry| entry.name.as_str()), Some("paid search ad"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn added_names_can_be_used() {
    add_and_use_names(&TestCore::start().await).await;
}

/// Adds names and uses them in URLs and cases.
pub(super) async fn add_and_use_names(service: &TestCore) {
    let mut company = service.company(1);
    company.affiliate("A").await;
    // The names are still unknown, and the core caches the company's names without them.
    let item = || UrlObservation {
        incident_status: some("Watched"),
        infractions: vec![infraction("Tax", "evasion"), infraction("Health Claim", "miracle")],
        ..observation("https://example.org/")
    };
    assert_eq!(company.observe(vec![item()]).await[0].code, 1021);
    let entries = || {
        vec![
            entry(VocabularyKind::InfractionName, "evasion", Some("Tax")),
            entry(VocabularyKind::InfractionType, "Tax", None),
            entry(VocabularyKind::UrlIncidentStatus, "Watched", None),
            entry(VocabularyKind::InfractionName, "miracle", Some("Health Claim")),
            entry(VocabularyKind::CaseStatus, "Open", None),
            entry(VocabularyKind::CaseStatus, "Parked", None),
            entry(VocabularyKind::InfractionName, "weight loss", Some("Health Claim")),
            entry(VocabularyKind::InfractionName, "weight loss", Some("Tax")),
            entry(VocabularyKind::CaseStatus, "Parked", None),
        ]
    };
    let results = add(&mut company, entries()).await;
    assert!(results.iter().all(|result| result.code == 1020), "{results:?}");
    let created: Vec<bool> = results.iter().map(|result| result.created).collect();
    assert_eq!(created, [true, true, true, true, false, true, false, true, false]);
    assert_eq!((results[4].id, results[6].id), (Some(2), Some(8)));
    assert!([0, 1, 2, 3, 5, 7].iter().all(|index| results[*index].id >= Some(1000)));
    assert_eq!(results[5].id, results[8].id);
    let again = add(&mut company, entries()).await;
    assert!(again.iter().zip(&results).all(|(again, first)| again.id == first.id && !again.created));

    let id = company.observe_one(item()).await;
    let read = company.url(id).await;
    assert_eq!(read.incident_status.as_deref(), Some("Watched"));
    let names: Vec<Option<&str>> = read.infractions.iter().map(|one| one.infraction_name.as_deref()).collect();
    assert_eq!(names, [Some("evasion"), Some("miracle")]);
    assert_eq!(read.infractions[0].infraction_type.as_deref(), Some("Tax"));
    let filter = ListComplianceUrlsRequest { incident_status_id: results[2].id, ..Default::default() };
    assert_eq!(company.urls.list_compliance_urls(filter).await.unwrap().into_inner().urls, [read]);

    let mut case = opening("r");
    case.case = Some(CaseInput { case_status: some("Parked"), ..case.case.unwrap() });
    let case = company.open(case).await;
    assert_eq!(company.case(case).await.case_status.as_deref(), Some("Parked"));

    let lists = list(&mut company).await;
    let own: Vec<(i32, &str, Option<&str>)> = lists
        .iter()
        .flat_map(|list| list.entries.iter().map(|entry| (list.vocabulary, entry)))
        .filter(|(_, entry)| entry.own)
        .map(|(kind, entry)| (kind, entry.name.as_str(), entry.infraction_type.as_deref()))
        .collect();
    assert_eq!(own.len(), 6);
    assert!(own.contains(&(8, "evasion", Some("Tax"))) && own.contains(&(8, "miracle", Some("Health Claim"))));

    // Other companies cannot use these names.
    let mut stranger = service.company(2);
    assert!(list(&mut stranger).await.iter().flat_map(|list| &list.entries).all(|entry| !entry.own));
    let result = stranger.observe(vec![item()]).await.pop().unwrap();
    assert_eq!(result.code, 1021);
    assert!(result.violations.iter().all(|violation| !violation.description.contains("Tax,")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_names_do_not_fail_the_batch() {
    let service = TestCore::start().await;
    let mut company = service.company(1);
    let results = add(
        &mut company,
        vec![
            entry(VocabularyKind::IncidentType, "tv ad", None),
            entry(VocabularyKind::Unspecified, "x", None),
            entry(VocabularyKind::CaseStatus, " ", None),
            entry(VocabularyKind::InfractionName, "x", None),
            entry(VocabularyKind::InfractionName, "x", Some("Unheard of")),
            entry(VocabularyKind::RiskLevel, "x", Some("Promotion")),
            entry(VocabularyKind::RiskLevel, "x", None),
        ],
    )
    .await;
    let codes: Vec<i32> = results.iter().map(|result| result.code).collect();
    assert_eq!(codes, [1021, 1021, 1021, 1021, 1021, 1021, 1020]);
    let paths: Vec<&str> =
        results.iter().flat_map(|result| violations(&result.violations)).map(|(path, _)| path).collect();
    let expected = ["vocabulary", "vocabulary", "name", "infraction_type", "infraction_type", "infraction_type"];
    assert_eq!(paths, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writers_get_the_same_name_ids() {
    let service = TestCore::start().await;
    let writers = (0..8).map(|writer| {
        let mut company = service.company(1);
        async move {
            let mut entries: Vec<_> =
                (0..50).map(|nth| entry(VocabularyKind::RiskLevel, &format!("level {nth}"), None)).collect();
            if writer % 2 == 1 {
                entries.reverse();
            }
            let mut ids: Vec<i64> = add(&mut company, entries).await.iter().map(|result| result.id.unwrap()).collect();
            ids.sort_unstable();
            ids
        }
    });
    let ids = futures::future::join_all(writers).await;
    assert!(ids.iter().all(|other| *other == ids[0]));
}
