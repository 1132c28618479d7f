use compliance_api::{
    error::Error,
    v1::{
        AffiliateSort, ListAffiliatePageRequest, ListAffiliatesRequest, ListAllComplianceCasesRequest,
        ListAllComplianceUrlsRequest, ListComplianceCasesRequest, ListComplianceUrlsRequest, SearchChangesRequest,
        SortDirection, UrlSort,
    },
};

use super::Query;

fn query(text: Option<&str>) -> Query {
    Query { text: text.unwrap_or_default().to_owned() }
}

fn urls(text: Option<&str>) -> Result<ListComplianceUrlsRequest, Error> {
    query(text).page()
}

fn cases(text: Option<&str>) -> Result<ListComplianceCasesRequest, Error> {
    query(text).page()
}

fn violations(query: &str) -> Vec<(String, String)> {
    let error = urls(Some(query)).unwrap_err();
    error.violations.into_iter().map(|violation| (violation.path, violation.message)).collect()
}

#[test]
fn query_parameters_set_request_fields() {
    let request = urls(Some(
        "incident_status_id=3&distributor_id=7&disabled=yes&discovery_after=2024-01-01&discovery_before=2024-12-31\
         &sort_by=last_seen&sort_dir=asc&per_page=5&page=2&colour=red&infraction_after=2024-02-01&infraction_before=2024-02-29\
         &infraction_type_id=2&has_case=no",
    ));
    let expected = ListComplianceUrlsRequest {
        incident_status_id: Some(3),
        distributor_id: Some(7),
        disabled: Some(true),
        discovery_after: Some("2024-01-01".into()),
        discovery_before: Some("2024-12-31".into()),
        sort_by: UrlSort::LastSeen.into(),
        sort_dir: SortDirection::Asc.into(),
        per_page: Some(5),
        page: Some(2),
        infraction_after: Some("2024-02-01".into()),
        infraction_before: Some("2024-02-29".into()),
        infraction_type_id: Some(2),
        has_case: Some(false),
    };
    assert_eq!(request.unwrap(), expected);
}

#[test]
fn affiliate_query_selects_page_or_whole_list() {
    let has_any = |text| query(Some(text)).has_any::<ListAffiliatePageRequest>();
    for page in ["page=1", "per_page=x", "sort_by=id", "sort_dir=asc", "q=a", "status=active", "%63ountry=US"] {
        assert!(has_any(page), "{page}");
    }
    for whole in ["", "page=&status=", "changed_after=7", "Page=1"] {
        assert!(!has_any(whole), "{whole}");
    }
    let text = "status=active&country=us&q=a+b&sort_by=affiliate_name&sort_dir=asc&per_page=5&page=2&colour=red";
    let request = query(Some(text)).page::<ListAffiliatePageRequest>();
    let expected = ListAffiliatePageRequest {
        status: Some("active".into()),
        country: Some("us".into()),
        q: Some("a b".into()),
        sort_by: AffiliateSort::AffiliateName.into(),
        sort_dir: SortDirection::Asc.into(),
        per_page: Some(5),
        page: Some(2),
    };
    assert_eq!(request.unwrap(), expected);
    let request = query(Some("status=active&country=us&q=a&changed_after=7&page="));
    let expected = ListAffiliatesRequest {
        changed_after: Some(7),
        status: Some("active".into()),
        country: Some("us".into()),
        q: Some("a".into()),
    };
    assert_eq!(request.whole_list::<ListAffiliatesRequest>().unwrap(), expected);
}

#[test]
fn non_utf8_parameters_are_reported() {
    let search = |text| query(Some(text)).request::<compliance_api::v1::SearchComplianceUrlsRequest>();
    for wrong in ["q=%FF&limit=3", "q=1%C3", "q=%e2%82&colour=%FF"] {
        let violations = search(wrong).unwrap_err().violations;
        let violations: Vec<_> = violations.iter().map(|violation| &*violation.message).collect();
        assert_eq!(violations, ["The q field must be UTF-8."], "{wrong}");
    }
    assert_eq!(search("q=%C3%BC").unwrap().q, "\u{fc}");
}

#[test]
fn empty_parameters_count_as_absent() {
    assert_eq!(urls(None).unwrap(), ListComplianceUrlsRequest::default());
    let request = urls(Some("disabled=&page=x&page=3&per_page=5&per_page=&%73ort_by=id"));
    let expected = ListComplianceUrlsRequest { page: Some(3), sort_by: UrlSort::Id.into(), ..Default::default() };
    assert_eq!(request.unwrap(), expected);
}

#[test]
fn conflicting_filter_values_are_reported() {
    let request = urls(Some("disabled=&disabled=yes&disabled=yes&distributor_id=7&distributor_id="));
    let expected = ListComplianceUrlsRequest { disabled: Some(true), distributor_id: Some(7), ..Default::default() };
    assert_eq!(request.unwrap(), expected);
    let several = |label: &str| format!("The {label} field must have only one value. The request has several.");
    assert_eq!(
        violations("disabled=yes&distributor_id=7&disabled=no&distributor_id=x&page=2&page=3"),
        [("distributor_id", "distributor id"), ("disabled", "disabled")]
            .map(|(path, label)| (path.to_owned(), several(label)))
    );
    let request = query(Some("types=url&types=case,affiliate")).changes(None).unwrap();
    assert_eq!(request.types, ["url", "case", "affiliate"]);
}

#[test]
fn unencoded_plus_in_offsets_is_accepted() {
    for (sent, read) in [
        ("2026-01-31T14:00:00+02:00", "2026-01-31T14:00:00+02:00"),
        ("2026-01-31+14:00:00.5%2B0200", "2026-01-31 14:00:00.5+0200"),
        ("2026-01-31+14:00:00+02", "2026-01-31 14:00:00+02"),
        ("2026-01-31+14:00:00", "2026-01-31 14:00:00"),
    ] {
        let request = query(Some(&format!("from={sent}"))).request::<SearchChangesRequest>();
        assert_eq!(request.unwrap().from.as_deref(), Some(read), "{sent}");
    }
}

#[test]
fn violations_follow_field_order() {
    let reported = violations(
        "page=1.0&per_page=201&sort_dir=up&sort_by=url&discovery_after=soon&disabled=maybe&distributor_id=0",
    );
    let expected = [
        ("distributor_id", "The distributor id field must be between 1 and 9007199254740991."),
        ("disabled", "The disabled field must be yes or no."),
        ("discovery_after", "The discovery after field must match the format YYYY-MM-DD."),
        ("sort_by", "The selected sort by is invalid. It must be one of: id, discovery_dt, last_review_dt, last_seen."),
        ("sort_dir", "The selected sort dir is invalid. It must be one of: asc, desc."),
        ("per_page", "The per page field must be between 1 and 200."),
        ("page", "The page field must be an integer."),
    ];
    assert_eq!(reported, expected.map(|(path, message)| (path.to_owned(), message.to_owned())));
}

#[test]
fn whole_lists_accept_filters_but_no_paging() {
    let text = "incident_status_id=3&distributor_id=7&disabled=yes&discovery_after=2024-01-01&page=&discovery_before=2024-12-31&infraction_after=2024-02-01&has_case=yes";
    let request = query(Some(text)).whole_list::<ListAllComplianceUrlsRequest>();
    let expected = ListAllComplianceUrlsRequest {
        incident_status_id: Some(3),
        distributor_id: Some(7),
        disabled: Some(true),
        discovery_after: Some("2024-01-01".into()),
        discovery_before: Some("2024-12-31".into()),
        after_id: None,
        changed_after: None,
        infraction_after: Some("2024-02-01".into()),
        infraction_before: None,
        infraction_type_id: None,
        has_case: Some(true),
    };
    assert_eq!(request.unwrap(), expected);
    let text = "page=1&sort_dir=asc&per_page=5&sort_by=id&case_status_id=0";
    let error = query(Some(text)).whole_list::<ListAllComplianceCasesRequest>().unwrap_err();
    let paths: Vec<String> = error.violations.into_iter().map(|violation| violation.path).collect();
    assert_eq!(paths, ["case_status_id", "sort_by", "sort_dir", "per_page", "page"]);
}

#[test]
fn query_and_header_violations_are_reported_together() {
    let paths = |text, last| {
        let error = query(Some(text)).changes(last).unwrap_err();
        error.violations.into_iter().map(|violation| violation.path).collect::<Vec<_>>()
    };
    assert_eq!(paths("limit=x&types=url,x", Some("?")), ["Last-Event-ID", "types.1", "limit"]);
    assert_eq!(paths("limit=0&after=x", Some("-1")), ["Last-Event-ID", "after", "limit"]);
    assert_eq!(paths("limit=0&after=5", Some("9007199254740992")), ["Last-Event-ID", "limit"]);
    assert_eq!(paths("after=x", Some("7")), ["after"]);
    let request = query(Some("limit=5&after=3")).changes(Some("7")).unwrap();
    assert_eq!((request.after, request.limit), (Some(7), Some(5)));
}

#[test]
fn last_event_id_overrides_after() {
    let after = |text, last| query(Some(text)).changes(last).unwrap().after;
    assert_eq!(after("after=3&lastEventId=5&lastEventId=6", Some("7")), Some(7));
    assert_eq!(after("after=3&lastEventId=5&lastEventId=6", Some("")), Some(6));
    assert_eq!(after("after=3&lastEventId=", None), Some(3));
    assert_eq!(after("lastEventId=6", None), Some(6));
    assert!(query(Some("lastEventId=x")).changes(None).is_err());
}

#[test]
fn non_integer_parameters_are_rejected() {
    for wrong in ["5.0", "5e0", "+5", "%205", "-", "five", "%00", "%FF"] {
        assert_eq!(violations(&format!("per_page={wrong}"))[0].1, "The per page field must be an integer.", "{wrong}");
    }
    assert_eq!(cases(Some("page=99999999999999999999")).unwrap().page, Some(i64::MAX));
    assert_eq!(cases(Some("page=-99999999999999999999")).unwrap().page, Some(i64::MIN));
}
