//! Rebuilds all records from their changes alone.

use std::collections::BTreeMap;

use compliance_api::{
    catalogue::Vocabulary,
    country,
    record::{Record, StoredAs},
    v1::{
        AddVocabularyEntriesRequest, Affiliate, AffiliateInput, AffiliateUpdate, AttachIncidentsRequest,
        BatchCreateAffiliatesRequest, CaseInput, Change, CloseCaseRequest, ComplianceCase, ComplianceUrl,
        DetachIncidentsRequest, Incident, IncidentKey, Infraction, ListAffiliatesRequest, ListComplianceCasesRequest,
        ListComplianceUrlsRequest, ListVocabulariesRequest, RecordInfractionsRequest, ResolveCaseRequest, ResultCode,
        UpdateCaseRequest, UrlInfraction, UrlObservation, VocabularyEntryInput, WithdrawInfractionsRequest,
    },
};
use futures::StreamExt as _;
use test_support::{GrpcClients, TestCore, connect_to_citus, new_company};

use super::{affiliate, all, past::without_upline};
use crate::monitoring::builders::{at, form_incident, infraction, observation, opening, some, url_incident};

pub(super) type Fields = BTreeMap<String, String>;

/// Records of each kind, by ID.
#[derive(Default)]
pub(super) struct Copy(BTreeMap<String, BTreeMap<i64, Fields>>);

impl Copy {
    pub(super) fn apply(&mut self, change: Change) {
        if change.operation == "erased" {
            return;
        }
        let records = self.0.entry(change.resource.clone()).or_default();
        match &*change.operation {
            "created" => assert!(records.insert(change.id, Fields::new()).is_none(), "{change:?}"),
            _ => assert!(records.contains_key(&change.id), "{change:?}"),
        }
        let record = records.get_mut(&change.id).unwrap();
        for field in &change.fields {
            assert_eq!(record.get(&field.field), field.before.as_ref(), "{change:?}");
            match &field.after {
                Some(after) => drop(record.insert(field.field.clone(), after.clone())),
                None => drop(record.remove(&field.field)),
            }
        }
        if change.operation == "deleted" {
            assert!(records.remove(&change.id).unwrap().is_empty(), "{change:?}");
        }
    }

    pub(super) fn of(&self, kind: &str) -> impl Iterator<Item = (i64, &Fields)> {
        self.0.get(kind).into_iter().flatten().map(|(id, fields)| (*id, fields))
    }

    fn name(&self, vocabulary: Vocabulary, id: Option<&String>) -> Option<String> {
        let id: i32 = id?.parse().unwrap();
        let own = || self.0["vocabulary_entry"][&i64::from(id)]["name"].clone();
        Some(vocabulary.default_name(id).map_or_else(own, str::to_owned))
    }

    /// Builds a record as reads return it, from its own fields and its affiliate's fields.
    fn record<R: Record>(&self, id: i64, own: &Fields) -> R {
        let mut record = R::default();
        let affiliate = own.get("affiliate_id").map(|id| &self.0["affiliate"][&id.parse().unwrap()]);
        let id = id.to_string();
        for field in R::FIELDS {
            let column = field.column;
            let fields = if column.table == R::TABLE { Some(own) } else { affiliate };
            let value = if column.name == "id" {
                Some(&id)
            } else {
                fields.and_then(|fields| fields.get(if column.name == "revision" { "etag" } else { column.name }))
            };
            let value = match column.form {
                StoredAs::Name(vocabulary) => self.name(vocabulary, value),
                StoredAs::CountryName => value.and_then(|code| country::name(code.parse().unwrap())).map(str::to_owned),
                _ => value.cloned(),
            };
            if column.table.is_empty() {
                continue;
            }
            assert!(field.set_written(&mut record, value), "{field:?}");
        }
        record
    }

    /// Returns the infraction type and name of an infraction or incident.
    fn names(&self, fields: &Fields) -> (Option<String>, Option<String>) {
        (
            self.name(Vocabulary::InfractionType, fields.get("infraction_type_id")),
            self.name(Vocabulary::InfractionName, fields.get("infraction_name_id")),
        )
    }

    fn affiliates(&self, company: i64) -> Vec<Affiliate> {
        let client_id = company;
        self.of("affiliate").map(|(id, own)| Affiliate { client_id, ..self.record(id, own) }).collect()
    }

    fn urls(&self) -> Vec<ComplianceUrl> {
        let infractions = |url: i64| {
            let mut infractions: Vec<_> =
                self.of("infraction").filter(|(_, own)| own["url_id"] == url.to_string()).collect();
            infractions.sort_by_key(|(id, own)| (own["created_date"].clone(), *id));
            let infraction = |(_, own): (i64, &Fields)| {
                let (infraction_type, infraction_name) = self.names(own);
                Infraction { infraction_type, infraction_name, created_date: Some(at(&own["created_date"])) }
            };
            infractions.into_iter().map(infraction).collect()
        };
        self.of("url").map(|(id, own)| ComplianceUrl { infractions: infractions(id), ..self.record(id, own) }).collect()
    }

    fn cases(&self) -> Vec<ComplianceCase> {
        let url = |id: i64| self.of("url").find(|(url, _)| *url == id).map(|(_, own)| own["url"].clone());
        let incidents = |case: i64| {
            let own = self.of("incident").filter(|(_, own)| own["case_id"] == case.to_string());
            let incident = |(incident_id, own): (i64, &Fields)| {
                let (infraction_type, infraction_name) = self.names(own);
                let incident_type = own["incident_type"].parse().unwrap();
                let url_id = own.get("url_id").and_then(|id| id.parse().ok());
                let reference = own.get("reference").cloned();
                Incident {
                    incident_id,
                    incident_type,
                    infraction_type,
                    infraction_name,
                    url_id,
                    url: url_id.and_then(url),
                    reference,
                }
            };
            own.map(incident).collect()
        };
        let upline = |own: &Fields| {
            let upline = self.0["affiliate"][&own["affiliate_id"].parse().unwrap()].get("upline")?;
            let named = self.of("affiliate").find(|(_, affiliate)| affiliate["client_affiliate_id"] == *upline);
            named.map(|(_, affiliate)| affiliate["affiliate_name"].clone())
        };
        let case = |(id, own): (i64, &Fields)| ComplianceCase {
            incidents: incidents(id),
            upline_name: upline(own),
            ..self.record(id, own)
        };
        self.of("case").map(case).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_rebuild_every_record() {
    let core = TestCore::start().await;
    let company = new_company();
    let mut clients = core.company(company);
    write_all(&mut clients).await;
    // Simulates a client with a different time zone and `DateStyle`. On Citus, the nodes would misread dates in a different style.
    let style = if connect_to_citus(&core.pool).await.is_some() { "" } else { "set datestyle = 'SQL, DMY';" };
    let by_hand = format!(
        "set time zone 'Asia/Kolkata'; {style} begin;
        insert into affiliates (company_id, client_affiliate_id, affiliate_name, start_date, notes)
            values ({company}, 'hand', 'hand', '2024-01-02', E'a, (b) \"c\" \\\\ d\\ne');
        update compliance_urls set last_seen = '2026-01-31 12:00:00+00', note = E'\"\\\\,()\\t' where company_id = {company};
        update compliance_urls set note = null, disabled = true where company_id = {company} and id % 2 = 0;
        update compliance_cases set tags = '{{x,\"y z\"}}' where company_id = {company};
        commit"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(by_hand)).execute(&core.pool).await.unwrap();

    for limit in [7, 1000] {
        let mut copy = Copy::default();
        let changes = all(&mut clients, 0, limit).await;
        assert!(changes.windows(2).all(|both| both[0].position + 1 == both[1].position));
        for change in changes {
            copy.apply(change);
        }

        let mut affiliates = Vec::new();
        let request = ListAffiliatesRequest::default();
        let mut pages = clients.affiliates.list_affiliates(request).await.unwrap().into_inner();
        while let Some(page) = pages.next().await {
            affiliates.extend(page.unwrap().affiliates);
        }
        assert!(affiliates.len() > 600);
        for (copied, read) in copy.affiliates(company).into_iter().zip(&affiliates) {
            assert_eq!(copied, *read);
        }
        assert_eq!(copy.affiliates(company).len(), affiliates.len());
        let request =
            ListComplianceUrlsRequest { sort_dir: 1, per_page: Some(200), ..ListComplianceUrlsRequest::default() };
        let urls = clients.urls.list_compliance_urls(request).await.unwrap().into_inner().urls;
        assert!(
            urls.iter().any(|url| url.infractions.len() > 1) && urls.iter().any(|url| url.case_id.is_some()),
            "{urls:?}"
        );
        for (copied, read) in copy.urls().into_iter().zip(&urls) {
            assert_eq!(copied, *read);
        }
        let request =
            ListComplianceCasesRequest { sort_dir: 1, per_page: Some(200), ..ListComplianceCasesRequest::default() };
        let cases = clients.cases.list_compliance_cases(request).await.unwrap().into_inner().cases;
        assert!(cases.len() == 2 && cases.iter().any(|case| case.upline_name.is_some()));
        for (copied, read) in copy.cases().into_iter().zip(cases) {
            assert_eq!(copied.upline_name, read.upline_name);
            assert_eq!(without_upline(copied), without_upline(read));
        }
        let vocabularies = clients.monitoring.list_vocabularies(ListVocabulariesRequest {}).await.unwrap().into_inner();
        let own = vocabularies.vocabularies.iter().flat_map(|names| &names.entries).filter(|entry| entry.own);
        let own: BTreeMap<i64, &str> = own.map(|entry| (entry.id, &*entry.name)).collect();
        assert_eq!(copy.of("vocabulary_entry").map(|(id, own)| (id, &*own["name"])).collect::<BTreeMap<_, _>>(), own);
    }
}

/// Calls every write operation in each of its forms.
async fn write_all(clients: &mut GrpcClients) {
    let upline = clients.affiliate("Upline").await;
    let (first, second) = (clients.affiliate("A").await, clients.affiliate("B").await);
    let full = AffiliateInput {
        upline: some("Upline"),
        country: some("DE"),
        start_date: some("02/29/2024"),
        notes: some("é “quoted” \\N, \t{}(\"),"),
        ..affiliate("Full")
    };
    for count in [3, 600] {
        let named = |number| affiliate(&format!("{count} {number}"));
        let affiliates =
            std::iter::once(AffiliateInput { affiliate_name: Some(format!("Full {count}")), ..full.clone() });
        let affiliates = affiliates.chain((0..count).map(named)).collect();
        clients
            .affiliates
            .batch_create_affiliates(BatchCreateAffiliatesRequest { affiliates, validate_only: false })
            .await
            .unwrap();
    }
    let renamed = |id: i64, name: &str, upline: Option<&str>| AffiliateUpdate {
        id: Some(id),
        affiliate: Some(AffiliateInput {
            affiliate_name: some(name),
            upline: upline.map(str::to_owned),
            ..AffiliateInput::default()
        }),
        ..AffiliateUpdate::default()
    };
    for updates in [
        vec![renamed(first, "A2", Some("Upline")), renamed(upline, "Upline", None)],
        // Two affiliates try to swap their names.
        vec![renamed(first, "B", None), renamed(second, "A2", Some("")), renamed(first, "B", Some("Upline"))],
    ] {
        clients.update_affiliates(updates).await;
    }
    for count in [2, 30] {
        clients.add_urls((0..count).map(|number| format!("https://{count}.example/{number}"))).await;
    }
    let entry = |vocabulary: i32, name: &str, parent: Option<&str>| VocabularyEntryInput {
        vocabulary,
        name: some(name),
        infraction_type: parent.map(str::to_owned),
    };
    let kind = |vocabulary: Vocabulary| vocabulary as i32;
    let entries = vec![
        entry(kind(Vocabulary::InfractionType), "Own type", None),
        entry(kind(Vocabulary::InfractionName), "Own name", Some("Own type")),
        entry(kind(Vocabulary::RiskLevel), "Own risk", None),
    ];
    let added = clients.monitoring.add_vocabulary_entries(AddVocabularyEntriesRequest { entries }).await.unwrap();
    assert!(added.get_ref().results.iter().all(|result| result.created), "{added:?}");
    let own = infraction("Own type", "Own name");
    let observed = UrlObservation {
        client_affiliate_id: some("A"),
        country: some("DE"),
        infractions: vec![own.clone(), infraction("Trademark", "brand bidding")],
        ..observation("https://2.example/0")
    };
    let new = UrlObservation { last_seen: Some(at("2024-05-06 07:08:09")), ..observation("https://new.example/") };
    let saved = clients.observe(vec![observed, new]).await;
    assert!(saved.iter().all(|result| result.code() == ResultCode::Saved), "{saved:?}");
    let cleared = UrlObservation { clear: vec!["country".to_owned()], ..observation("https://2.example/0") };
    clients.observe(vec![cleared]).await;
    let of_url =
        |url: &str| UrlInfraction { url: some(url), infraction: Some(own.clone()), ..UrlInfraction::default() };
    let infractions = vec![of_url("https://2.example/1"), of_url("https://new.example/")];
    clients.monitoring.record_infractions(RecordInfractionsRequest { infractions: infractions.clone() }).await.unwrap();
    let infractions = vec![infractions[0].clone()];
    clients.monitoring.withdraw_infractions(WithdrawInfractionsRequest { infractions }).await.unwrap();
    let mut one = opening("one");
    one.incidents = vec![url_incident("https://2.example/0"), form_incident("form")];
    let (one, two) = (clients.open(one).await, clients.open(opening("two")).await);
    let case =
        CaseInput { risk_level: some("Own risk"), tags: vec!["a".into(), "b, c".into()], ..CaseInput::default() };
    let update = UpdateCaseRequest { id: one, case: Some(case), ..UpdateCaseRequest::default() };
    clients.monitoring.update_case(update).await.unwrap();
    let incidents = vec![url_incident("https://2.example/0"), url_incident("https://2.example/1")];
    clients.monitoring.attach_incidents(AttachIncidentsRequest { id: two, incidents }).await.unwrap();
    let incidents = vec![IncidentKey { incident_type: Some(2), reference: some("form"), ..IncidentKey::default() }];
    clients.monitoring.detach_incidents(DetachIncidentsRequest { id: one, incidents }).await.unwrap();
    clients.monitoring.resolve_case(ResolveCaseRequest { id: one, ..ResolveCaseRequest::default() }).await.unwrap();
    clients.monitoring.close_case(CloseCaseRequest { id: two, ..CloseCaseRequest::default() }).await.unwrap();
}
