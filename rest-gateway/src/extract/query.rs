//! Query strings: unknown parameters are ignored, an empty one is absent, the last of several counts.

use std::borrow::Cow;

use compliance_api::{
    error::Error,
    rules::{self, Check, Violations, label},
    v1::{CaseSort, ListComplianceCasesRequest, ListComplianceUrlsRequest, SortDirection, UrlSort},
};
use url::form_urlencoded;

const SORT_DIR: &[(&str, SortDirection)] = &[("asc", SortDirection::Asc), ("desc", SortDirection::Desc)];
const DISABLED: &[(&str, bool)] = &[("yes", true), ("no", false)];
const URL_SORT: &[(&str, UrlSort)] = &[
    ("id", UrlSort::Id),
    ("discovery_dt", UrlSort::DiscoveryDt),
    ("last_review_dt", UrlSort::LastReviewDt),
    ("last_seen", UrlSort::LastSeen),
];
const CASE_SORT: &[(&str, CaseSort)] = &[("id", CaseSort::Id), ("created_dt", CaseSort::CreatedDt)];

/// The parameters of `GET /urls`.
pub(crate) fn urls(query: Option<&str>) -> Result<ListComplianceUrlsRequest, Error> {
    let mut query = Query::of::<ListComplianceUrlsRequest>(query);
    let request = ListComplianceUrlsRequest {
        incident_status_id: query.integer("incident_status_id"),
        distributor_id: query.integer("distributor_id"),
        disabled: query.choice("disabled", DISABLED),
        discovery_after: query.text("discovery_after"),
        discovery_before: query.text("discovery_before"),
        sort_by: query.choice("sort_by", URL_SORT).unwrap_or_default().into(),
        sort_dir: query.choice("sort_dir", SORT_DIR).unwrap_or_default().into(),
        per_page: query.integer("per_page"),
        page: query.integer("page"),
    };
    query.finish(request)
}

/// The parameters of `GET /cases`.
pub(crate) fn cases(query: Option<&str>) -> Result<ListComplianceCasesRequest, Error> {
    let mut query = Query::of::<ListComplianceCasesRequest>(query);
    let request = ListComplianceCasesRequest {
        case_status_id: query.integer("case_status_id"),
        created_after: query.text("created_after"),
        created_before: query.text("created_before"),
        distributor_id: query.integer("distributor_id"),
        sort_by: query.choice("sort_by", CASE_SORT).unwrap_or_default().into(),
        sort_dir: query.choice("sort_dir", SORT_DIR).unwrap_or_default().into(),
        per_page: query.integer("per_page"),
        page: query.integer("page"),
    };
    query.finish(request)
}

/// The values of the parameters that a request has fields for: they have the fields' names.
struct Query<'q> {
    names: &'static [&'static str],
    values: Vec<Option<Cow<'q, str>>>,
    violations: Violations,
}

impl<'q> Query<'q> {
    fn of<M: Check>(query: Option<&'q str>) -> Self {
        let mut values = vec![None; M::NAMES.len()];
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if let Some(position) = M::NAMES.iter().position(|known| **known == *name) {
                values[position] = Some(value).filter(|value| !value.is_empty());
            }
        }
        Self { names: M::NAMES, values, violations: Violations::new() }
    }

    fn take(&mut self, name: &str) -> Option<Cow<'q, str>> {
        let position = self.names.iter().position(|known| *known == name)?;
        self.values[position].take()
    }

    fn text(&mut self, name: &str) -> Option<String> {
        self.take(name).map(Cow::into_owned)
    }

    fn integer(&mut self, name: &str) -> Option<i64> {
        let text = self.take(name)?;
        let (negative, digits) = text.strip_prefix('-').map_or((false, &*text), |digits| (true, digits));
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            self.fault(name, |label| format!("The {label} field must be an integer."));
            return None;
        }
        // A number beyond all bounds is out of range, which is for the rules to say.
        Some(text.parse().unwrap_or(if negative { i64::MIN } else { i64::MAX }))
    }

    fn choice<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.take(name)?;
        let chosen = choices.iter().find(|(choice, _)| *choice == text).map(|(_, value)| *value);
        if chosen.is_none() {
            self.fault(name, |label| format!("The selected {label} is invalid."));
        }
        chosen
    }

    fn fault(&mut self, name: &str, message: impl FnOnce(&str) -> String) {
        // The fields of these messages are numbered in the order of their declaration.
        let number = self.names.iter().position(|known| *known == name).map_or(0, |position| position as u32 + 1);
        self.violations.push(name.to_owned(), message(&label(name)), 0, number);
    }

    /// The request, unless it has faults that it cannot say: then all of its faults.
    fn finish<M: Check>(mut self, request: M) -> Result<M, Error> {
        if self.violations.is_empty() {
            return Ok(request);
        }
        self.violations.merge(rules::check(&request));
        Err(Error::invalid(self.violations))
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::v1::{ListComplianceUrlsRequest, SortDirection, UrlSort};

    fn faults(query: &str) -> Vec<(String, String)> {
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
    fn every_fault_is_told_in_the_order_of_the_parameters() {
        let told = faults(
            "page=1.0&per_page=201&sort_dir=up&sort_by=url&discovery_after=soon&disabled=maybe&distributor_id=0",
        );
        let expected = [
            ("distributor_id", "The distributor id field must be between 1 and 9007199254740991."),
            ("disabled", "The selected disabled is invalid."),
            ("discovery_after", "The discovery after field must match the format YYYY-MM-DD."),
            ("sort_by", "The selected sort by is invalid."),
            ("sort_dir", "The selected sort dir is invalid."),
            ("per_page", "The per page field must be between 1 and 200."),
            ("page", "The page field must be an integer."),
        ];
        assert_eq!(told, expected.map(|(path, message)| (path.to_owned(), message.to_owned())));
    }

    #[test]
    fn integers_are_written_as_integers() {
        for wrong in ["5.0", "5e0", "+5", "%205", "-", "five", "%00", "%FF"] {
            assert_eq!(faults(&format!("per_page={wrong}"))[0].1, "The per page field must be an integer.", "{wrong}");
        }
        assert_eq!(super::cases(Some("page=99999999999999999999")).unwrap().page, Some(i64::MAX));
        assert_eq!(super::cases(Some("page=-99999999999999999999")).unwrap().page, Some(i64::MIN));
    }
}
