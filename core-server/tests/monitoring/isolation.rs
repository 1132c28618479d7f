//! Records of other companies do not exist, and without the scope nothing is written.

use compliance_api::v1::{
    AddVocabularyEntriesRequest, AttachIncidentsRequest, BatchOpenCasesRequest, CaseInput, CloseCaseRequest,
    DetachIncidentsRequest, ExportCasesRequest, ExportUrlsRequest, IncidentInput, IncidentKey, ListVocabulariesRequest,
    ObserveUrlsRequest, OpenCaseRequest, RecordInfractionsRequest, ReopenCaseRequest, ResolveCaseRequest, ResultCode,
    UpdateCaseRequest, UrlInfraction, UrlObservation, WithdrawInfractionsRequest,
};
use tonic::{Code, Status};

use test_support::{GrpcClients, TestCore, tests, token_with_scope};

use super::builders::{infraction, observation, opening, some, url_incident};

tests![records_of_another_company_do_not_exist, without_the_scope_nothing_is_done];

async fn records_of_another_company_do_not_exist() {
    let service = TestCore::start().await;
    let (mut owner, mut stranger) = (service.company(1), service.company(2));
    let affiliate = owner.affiliate("A").await;
    stranger.affiliate("S").await;
    let infractions = vec![infraction("Promotion", "misleading offer")];
    let url = owner.observe_one(UrlObservation { infractions, ..observation("https://example.org/") }).await;
    let incidents = vec![url_incident("https://example.org/")];
    let case_id = owner.open(OpenCaseRequest { incidents, ..opening("r") }).await;
    let before = (owner.url(url).await, owner.case(case_id).await);
    let incident_id = before.1.incidents[0].incident_id;
    let not_found = |status: Result<(), Status>| assert_eq!(status.unwrap_err().code(), Code::NotFound);
    let m = &mut stranger.monitoring;

    // Affiliates, by either identifier.
    for (by_id, by_client) in [(Some(affiliate), None), (None, some("A"))] {
        let observations = vec![UrlObservation {
            affiliate_id: by_id,
            client_affiliate_id: by_client.clone(),
            ..observation("https://stranger.example/")
        }];
        let results = m.observe_urls(ObserveUrlsRequest { observations }).await.unwrap().into_inner().results;
        assert_eq!(results[0].code(), ResultCode::NotFound);
        let case = CaseInput { affiliate_id: by_id, client_affiliate_id: by_client, ..CaseInput::default() };
        not_found(m.open_case(OpenCaseRequest { case: Some(case), ..opening("r") }).await.map(drop));
    }
    // With the same request ID and the same URL the other company has records of its own.
    let own = CaseInput { client_affiliate_id: some("S"), ..CaseInput::default() };
    let request = OpenCaseRequest { case: Some(own.clone()), ..opening("r") };
    let opened = m.open_case(request).await.unwrap().into_inner();
    assert!(opened.created && opened.case_id != case_id);
    let by_id = IncidentInput { url: None, url_id: Some(url), ..url_incident("") };
    for incident in [url_incident("https://example.org/"), by_id] {
        let incidents = vec![incident];
        let request = OpenCaseRequest { case: Some(own.clone()), incidents: incidents.clone(), ..opening("r-2") };
        let results = m.batch_open_cases(BatchOpenCasesRequest { cases: vec![request] }).await.unwrap().into_inner();
        assert_eq!(results.results[0].code(), ResultCode::NotFound);
        let request = AttachIncidentsRequest { id: opened.case_id, incidents };
        let results = m.attach_incidents(request).await.unwrap().into_inner().results;
        assert_eq!(results[0].code(), ResultCode::NotFound);
    }

    // Infractions.
    let misleading = Some(infraction("Promotion", "misleading offer"));
    let infractions = vec![
        UrlInfraction { url_id: Some(url), url: None, infraction: misleading.clone() },
        UrlInfraction { url_id: None, url: some("https://example.org/"), infraction: misleading },
    ];
    let request = RecordInfractionsRequest { infractions: infractions.clone() };
    let recorded = m.record_infractions(request).await.unwrap().into_inner().results;
    let request = WithdrawInfractionsRequest { infractions };
    let withdrawn = m.withdraw_infractions(request).await.unwrap().into_inner().results;
    assert!(recorded.iter().chain(&withdrawn).all(|result| result.code() == ResultCode::NotFound));

    // Cases.
    let case = Some(CaseInput { case_worker: some("x"), ..CaseInput::default() });
    not_found(m.update_case(UpdateCaseRequest { id: case_id, case, update_mask: None }).await.map(drop));
    not_found(m.resolve_case(ResolveCaseRequest { id: case_id, resolved_date: None }).await.map(drop));
    not_found(m.close_case(CloseCaseRequest { id: case_id, ..Default::default() }).await.map(drop));
    not_found(m.reopen_case(ReopenCaseRequest { id: case_id, case_status: None }).await.map(drop));
    not_found(m.attach_incidents(AttachIncidentsRequest { id: case_id, incidents: vec![] }).await.map(drop));
    let incidents = vec![IncidentKey { incident_id: Some(incident_id), ..IncidentKey::default() }];
    not_found(m.detach_incidents(DetachIncidentsRequest { id: case_id, incidents: incidents.clone() }).await.map(drop));
    let request = DetachIncidentsRequest { id: opened.case_id, incidents };
    assert!(!m.detach_incidents(request).await.unwrap().into_inner().results[0].changed);
    let case = Some(CaseInput { affiliate_id: Some(affiliate), ..CaseInput::default() });
    let request = UpdateCaseRequest { id: opened.case_id, case, update_mask: None };
    not_found(m.update_case(request).await.map(drop));

    // Exports have the records of the caller's company only.
    let mut pages = m.export_urls(ExportUrlsRequest::default()).await.unwrap().into_inner();
    assert_eq!(pages.message().await.unwrap(), None);
    let mut pages = m.export_cases(ExportCasesRequest::default()).await.unwrap().into_inner();
    let page = pages.message().await.unwrap().unwrap();
    assert_eq!((page.cases.len(), page.last_case_id), (1, opened.case_id));

    // Observing the same URL creates a record of the other company, and the owner's is unchanged.
    let own = stranger.observe_one(UrlObservation { note: some("x"), ..observation("https://example.org/") }).await;
    assert_ne!(own, url);
    assert_eq!((owner.url(url).await, owner.case(case_id).await), before);
}

async fn without_the_scope_nothing_is_done() {
    let service = TestCore::start().await;
    for scope in [None, Some(""), Some("monitoring"), Some("read write")] {
        let GrpcClients { monitoring: mut m, .. } = service.clients(&token_with_scope(1, scope, 3600));
        let statuses = [
            m.observe_urls(ObserveUrlsRequest::default()).await.map(drop),
            m.stream_url_observations(tokio_stream::empty()).await.map(drop),
            m.export_urls(ExportUrlsRequest::default()).await.map(drop),
            m.record_infractions(RecordInfractionsRequest::default()).await.map(drop),
            m.withdraw_infractions(WithdrawInfractionsRequest::default()).await.map(drop),
            m.open_case(OpenCaseRequest::default()).await.map(drop),
            m.batch_open_cases(BatchOpenCasesRequest::default()).await.map(drop),
            m.export_cases(ExportCasesRequest::default()).await.map(drop),
            m.update_case(UpdateCaseRequest::default()).await.map(drop),
            m.resolve_case(ResolveCaseRequest::default()).await.map(drop),
            m.close_case(CloseCaseRequest::default()).await.map(drop),
            m.reopen_case(ReopenCaseRequest::default()).await.map(drop),
            m.attach_incidents(AttachIncidentsRequest::default()).await.map(drop),
            m.detach_incidents(DetachIncidentsRequest::default()).await.map(drop),
            m.list_vocabularies(ListVocabulariesRequest::default()).await.map(drop),
            m.add_vocabulary_entries(AddVocabularyEntriesRequest::default()).await.map(drop),
        ];
        for (number, status) in statuses.into_iter().enumerate() {
            assert_eq!(status.unwrap_err().code(), Code::PermissionDenied, "{number}");
        }
    }
}
