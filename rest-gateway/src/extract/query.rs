//! Query strings: unknown parameters are ignored, an empty one is absent, the last of several counts.

use std::{borrow::Cow, collections::HashMap};

use compliance_api::{
    description::Message,
    error::Error,
    rules::{self, Check, Violations, label, not_one_of},
    v1::{
        CaseSort, GetAffiliateRequest, ListAffiliatesRequest, ListAllComplianceCasesRequest,
        ListAllComplianceUrlsRequest, ListChangesRequest, ListComplianceCasesRequest, ListComplianceUrlsRequest,
        ListWebhookDeliveriesRequest, SearchAffiliatesRequest, SearchChangesRequest, SearchComplianceUrlsRequest,
        SortDirection, UrlSort,
    },
};
use url::form_urlencoded;

use super::accept;

const SORT_DIR: &[(&str, SortDirection)] = &[("asc", SortDirection::Asc), ("desc", SortDirection::Desc)];
/// The first number of the parameters of pages, in a request that has no pages.
const PAGES: u32 = 1 << 16;
const YES_NO: &[(&str, bool)] = &[("yes", true), ("no", false)];
const URL_SORT: &[(&str, UrlSort)] = &[
    ("id", UrlSort::Id),
    ("discovery_dt", UrlSort::DiscoveryDt),
    ("last_review_dt", UrlSort::LastReviewDt),
    ("last_seen", UrlSort::LastSeen),
];
const CASE_SORT: &[(&str, CaseSort)] = &[("id", CaseSort::Id), ("created_dt", CaseSort::CreatedDt)];

pub(crate) fn urls(query: Option<&str>) -> Result<ListComplianceUrlsRequest, Error> {
    let mut query = Query::of::<ListComplianceUrlsRequest>(query);
    let request = ListComplianceUrlsRequest {
        incident_status_id: query.integer("incident_status_id"),
        distributor_id: query.integer("distributor_id"),
        disabled: query.choice("disabled", YES_NO),
        discovery_after: query.text("discovery_after"),
        discovery_before: query.text("discovery_before"),
        sort_by: query.number_of("sort_by", URL_SORT),
        sort_dir: query.number_of("sort_dir", SORT_DIR),
        per_page: query.integer("per_page"),
        page: query.integer("page"),
    };
    query.refuse_changed_after();
    accept(query.violations, request)
}

/// The filters of a whole list, which has no pages.
pub(crate) fn all_urls(query: Option<&str>) -> Result<ListAllComplianceUrlsRequest, Error> {
    let mut query = Query::of::<ListAllComplianceUrlsRequest>(query);
    let request = ListAllComplianceUrlsRequest {
        incident_status_id: query.integer("incident_status_id"),
        distributor_id: query.integer("distributor_id"),
        disabled: query.choice("disabled", YES_NO),
        discovery_after: query.text("discovery_after"),
        discovery_before: query.text("discovery_before"),
        after_id: None,
        changed_after: query.integer("changed_after"),
    };
    query.refuse_pages();
    accept(query.violations, request)
}

/// The filters of a whole list, which has no pages.
pub(crate) fn all_cases(query: Option<&str>) -> Result<ListAllComplianceCasesRequest, Error> {
    let mut query = Query::of::<ListAllComplianceCasesRequest>(query);
    let request = ListAllComplianceCasesRequest {
        case_status_id: query.integer("case_status_id"),
        created_after: query.text("created_after"),
        created_before: query.text("created_before"),
        distributor_id: query.integer("distributor_id"),
        after_id: None,
        changed_after: query.integer("changed_after"),
    };
    query.refuse_pages();
    accept(query.violations, request)
}

pub(crate) fn cases(query: Option<&str>) -> Result<ListComplianceCasesRequest, Error> {
    let mut query = Query::of::<ListComplianceCasesRequest>(query);
    let request = ListComplianceCasesRequest {
        case_status_id: query.integer("case_status_id"),
        created_after: query.text("created_after"),
        created_before: query.text("created_before"),
        distributor_id: query.integer("distributor_id"),
        sort_by: query.number_of("sort_by", CASE_SORT),
        sort_dir: query.number_of("sort_dir", SORT_DIR),
        per_page: query.integer("per_page"),
        page: query.integer("page"),
    };
    query.refuse_changed_after();
    accept(query.violations, request)
}

pub(crate) fn affiliate_search(query: Option<&str>) -> Result<SearchAffiliatesRequest, Error> {
    let mut query = Query::of::<SearchAffiliatesRequest>(query);
    let request = SearchAffiliatesRequest { q: query.text("q").unwrap_or_default(), limit: query.integer("limit") };
    accept(query.violations, request)
}

pub(crate) fn url_search(query: Option<&str>) -> Result<SearchComplianceUrlsRequest, Error> {
    let mut query = Query::of::<SearchComplianceUrlsRequest>(query);
    let request = SearchComplianceUrlsRequest { q: query.text("q").unwrap_or_default(), limit: query.integer("limit") };
    accept(query.violations, request)
}

/// The position `last` replaces `after` of the query. Both must be valid.
pub(crate) fn changes(query: Option<&str>, last: Option<&str>) -> Result<ListChangesRequest, Error> {
    let mut query = Query::of::<ListChangesRequest>(query);
    let types = query.text("types").map(|types| types.split(',').map(str::to_owned).collect());
    let (after, limit) = (query.integer("after"), query.integer("limit"));
    let request = accept(query.violations, ListChangesRequest { after, types: types.unwrap_or_default(), limit })?;
    let Some(last) = last else { return Ok(request) };
    // The core does not see what is replaced.
    let replaced = rules::check(&request);
    if !replaced.is_empty() {
        return Err(Error::invalid(replaced));
    }
    let mut header = Query::of::<ListChangesRequest>(None);
    header.values.insert(Cow::from("after"), Cow::from(last.to_owned()));
    let after = header.integer("after");
    accept(header.violations, ListChangesRequest { after, ..request })
}

/// The parameters of a list of deliveries, without the ID of their webhook.
pub(crate) fn webhook_deliveries(query: Option<&str>) -> Result<ListWebhookDeliveriesRequest, Error> {
    let mut query = Query::of::<ListWebhookDeliveriesRequest>(query);
    let limit = query.integer("limit");
    accept(query.violations, ListWebhookDeliveriesRequest { id: 0, limit })
}

pub(crate) fn audit(query: Option<&str>) -> Result<SearchChangesRequest, Error> {
    let mut query = Query::of::<SearchChangesRequest>(query);
    let request = SearchChangesRequest {
        before: query.integer("before"),
        resource: query.text("resource"),
        id: query.integer("id"),
        subject: query.text("subject"),
        request_id: query.text("request_id"),
        from: query.text("from"),
        to: query.text("to"),
        limit: query.integer("limit"),
    };
    accept(query.violations, request)
}

pub(crate) fn all_affiliates(query: Option<&str>) -> Result<ListAffiliatesRequest, Error> {
    let mut query = Query::of::<ListAffiliatesRequest>(query);
    let request = ListAffiliatesRequest { changed_after: query.integer("changed_after") };
    accept(query.violations, request)
}

/// The time as of which a record is read. It is valid.
pub(crate) fn as_of(query: Option<&str>) -> Result<Option<String>, Error> {
    let as_of = Query::of::<GetAffiliateRequest>(query).text("as_of");
    accept(Violations::new(), GetAffiliateRequest { id: 0, as_of }).map(|request| request.as_of)
}

/// The parameters of a query, and the violations found in them.
struct Query<'q> {
    request: &'static Message,
    values: HashMap<Cow<'q, str>, Cow<'q, str>>,
    violations: Violations,
}

impl<'q> Query<'q> {
    fn of<M: Check>(query: Option<&'q str>) -> Self {
        let values = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).collect();
        Self { request: M::MESSAGE, values, violations: Violations::new() }
    }

    fn take(&mut self, name: &str) -> Option<Cow<'q, str>> {
        self.values.remove(name).filter(|value| !value.is_empty())
    }

    fn text(&mut self, name: &str) -> Option<String> {
        self.take(name).map(Cow::into_owned)
    }

    fn integer(&mut self, name: &str) -> Option<i64> {
        let text = self.take(name)?;
        let (is_negative, digits) = text.strip_prefix('-').map_or((false, &*text), |digits| (true, digits));
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            self.violation(name, |label| format!("The {label} field must be an integer."));
            return None;
        }
        // A number that no `i64` holds is out of range, which the rules report.
        Some(text.parse().unwrap_or(if is_negative { i64::MIN } else { i64::MAX }))
    }

    fn choice<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.take(name)?;
        let choice = choices.iter().find(|(choice, _)| *choice == text).map(|(_, value)| *value);
        if choice.is_none() {
            let allowed: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
            self.violation(name, |label| not_one_of(label, &allowed));
        }
        choice
    }

    /// Refuses what pages cannot have.
    fn refuse_changed_after(&mut self) {
        if self.take("changed_after").is_some() {
            let message = "The changed after field is for whole lists: request application/x-ndjson or text/csv.";
            self.violations.push((0, PAGES), || ("changed_after".to_owned(), message.to_owned()));
        }
    }

    /// Refuses the parameters of pages.
    fn refuse_pages(&mut self) {
        // Behind the fields of the request.
        for (number, name) in (PAGES..).zip(["sort_by", "sort_dir", "per_page", "page"]) {
            if self.take(name).is_some() {
                let path = || {
                    let label = label(name);
                    (name.to_owned(), format!("The {label} field is for pages: this format has the whole list, by ID."))
                };
                self.violations.push((0, number), path);
            }
        }
    }

    /// The number of an enum's value, as messages hold it.
    fn number_of<E: Copy + Default + Into<i32>>(&mut self, name: &str, choices: &[(&str, E)]) -> i32 {
        self.choice(name, choices).unwrap_or_default().into()
    }

    fn violation(&mut self, name: &str, message: impl FnOnce(&str) -> String) {
        let number = self.request.field(name).map_or(0, |field| field.number);
        self.violations.push((0, number), || (name.to_owned(), message(&label(name))));
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::v1::{ListAllComplianceUrlsRequest, ListComplianceUrlsRequest, SortDirection, UrlSort};

    fn violations(query: &str) -> Vec<(String, String)> {
        let error = super::urls(Some(query)).unwrap_err();
        error.violations.into_iter().map(|violation| (violation.path, violation.message)).collect()
    }

    #[test]
    fn every_parameter_has_its_field() {
        let request = super::urls(Some(
            "incident_status_id=3&distributor_id=7&disabled=yes&discovery_after=2024-01-01&discovery_before=2024-12-31\
             &sort_by=last_seen&sort_dir=asc&per_page=5&page=2&colour=red",
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
        };
        assert_eq!(request.unwrap(), expected);
    }

    #[test]
    fn an_empty_parameter_is_absent_and_the_last_counts() {
        assert_eq!(super::urls(None).unwrap(), ListComplianceUrlsRequest::default());
        let request = super::urls(Some("disabled=&page=x&page=3&per_page=5&per_page=&%73ort_by=id"));
        let expected = ListComplianceUrlsRequest { page: Some(3), sort_by: UrlSort::Id.into(), ..Default::default() };
        assert_eq!(request.unwrap(), expected);
    }

    #[test]
    fn every_violation_is_reported_in_the_order_of_the_parameters() {
        let reported = violations(
            "page=1.0&per_page=201&sort_dir=up&sort_by=url&discovery_after=soon&disabled=maybe&distributor_id=0",
        );
        let expected = [
            ("distributor_id", "The distributor id field must be between 1 and 9007199254740991."),
            ("disabled", "The selected disabled is invalid. It must be one of: yes, no."),
            ("discovery_after", "The discovery after field must match the format YYYY-MM-DD."),
            (
                "sort_by",
                "The selected sort by is invalid. It must be one of: id, discovery_dt, last_review_dt, last_seen.",
            ),
            ("sort_dir", "The selected sort dir is invalid. It must be one of: asc, desc."),
            ("per_page", "The per page field must be between 1 and 200."),
            ("page", "The page field must be an integer."),
        ];
        assert_eq!(reported, expected.map(|(path, message)| (path.to_owned(), message.to_owned())));
    }

    #[test]
    fn a_whole_list_has_filters_and_no_pages() {
        let request = super::all_urls(Some(
            "incident_status_id=3&distributor_id=7&disabled=yes&discovery_after=2024-01-01&page=&discovery_before=2024-12-31",
        ));
        let expected = ListAllComplianceUrlsRequest {
            incident_status_id: Some(3),
            distributor_id: Some(7),
            disabled: Some(true),
            discovery_after: Some("2024-01-01".into()),
            discovery_before: Some("2024-12-31".into()),
            after_id: None,
            changed_after: None,
        };
        assert_eq!(request.unwrap(), expected);
        let error = super::all_cases(Some("page=1&sort_dir=asc&per_page=5&sort_by=id&case_status_id=0")).unwrap_err();
        let paths: Vec<String> = error.violations.into_iter().map(|violation| violation.path).collect();
        assert_eq!(paths, ["case_status_id", "sort_by", "sort_dir", "per_page", "page"]);
    }

    #[test]
    fn integers_are_written_as_integers() {
        for wrong in ["5.0", "5e0", "+5", "%205", "-", "five", "%00", "%FF"] {
            assert_eq!(
                violations(&format!("per_page={wrong}"))[0].1,
                "The per page field must be an integer.",
                "{wrong}"
            );
        }
        assert_eq!(super::cases(Some("page=99999999999999999999")).unwrap().page, Some(i64::MAX));
        assert_eq!(super::cases(Some("page=-99999999999999999999")).unwrap().page, Some(i64::MIN));
    }
}
