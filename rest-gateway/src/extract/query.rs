//! Query strings: unknown parameters are ignored, an empty one is absent, the last of several counts.

use std::{borrow::Cow, collections::HashMap};

use compliance_api::{
    description::{Field, Kind},
    error::Error,
    rules::{self, Check, Violations, label, not_one_of},
    v1::ListChangesRequest,
};
use prost::{Message, encoding};
use url::form_urlencoded;

use super::accept;

const YES_NO: &[&str] = &["yes", "no"];
/// The values of enums, from the number 1 on.
const ENUMS: [(&str, &[&str]); 3] = [
    ("SortDirection", &["asc", "desc"]),
    ("UrlSort", &["id", "discovery_dt", "last_review_dt", "last_seen"]),
    ("CaseSort", &["id", "created_dt"]),
];
/// The first number of the parameters that a list cannot have: behind the fields of the request.
const REFUSED: u32 = 1 << 16;

/// The request whose fields are the parameters.
pub(crate) fn request<M: Check + Message + Default>(query: Option<&str>) -> Result<M, Error> {
    read(query, &[], |_| String::new())
}

/// The same for a page of a list.
pub(crate) fn page<M: Check + Message + Default>(query: Option<&str>) -> Result<M, Error> {
    let why = |label: &str| format!("The {label} field is for whole lists: request application/x-ndjson or text/csv.");
    read(query, &["changed_after"], why)
}

/// The same for a whole list, which has no pages.
pub(crate) fn whole_list<M: Check + Message + Default>(query: Option<&str>) -> Result<M, Error> {
    let why = |label: &str| format!("The {label} field is for pages: this format has the whole list, by ID.");
    read(query, &["sort_by", "sort_dir", "per_page", "page"], why)
}

/// The position `last` replaces `after` of the query. Both must be valid.
pub(crate) fn changes(query: Option<&str>, last: Option<&str>) -> Result<ListChangesRequest, Error> {
    let sent = request(query)?;
    let Some(last) = last else { return Ok(sent) };
    // The core does not see what is replaced.
    let replaced = rules::check(&sent);
    if !replaced.is_empty() {
        return Err(Error::invalid(replaced));
    }
    let header = form_urlencoded::Serializer::new(String::new()).append_pair("after", last).finish();
    let ListChangesRequest { after, .. } = request(Some(&header))?;
    Ok(ListChangesRequest { after, ..sent })
}

/// Reads a request by its description: what is sent is encoded as its fields are. `refused` are parameters that it cannot have, and
/// `why`, by their label.
fn read<M: Check + Message + Default>(
    query: Option<&str>,
    refused: &[&'static str],
    why: impl Fn(&str) -> String,
) -> Result<M, Error> {
    let mut values: HashMap<Cow<str>, Cow<str>> =
        form_urlencoded::parse(query.unwrap_or_default().as_bytes()).collect();
    values.retain(|_, value| !value.is_empty());
    let (mut message, mut violations) = (Vec::new(), Violations::new());
    for field in M::MESSAGE.fields.iter().filter(|field| is_parameter(field)) {
        let Some(value) = values.remove(field.name) else { continue };
        if let Err(violation) = encode(field, &value, &mut message) {
            violations.push((0, field.number), || (field.name.to_owned(), violation));
        }
    }
    for (number, name) in (REFUSED..).zip(refused).filter(|(_, name)| values.contains_key(**name)) {
        violations.push((0, number), || ((*name).to_owned(), why(&label(name))));
    }
    accept(violations, M::decode(&*message).map_err(|_| Error::internal())?)
}

/// An ID that a request must have is in its path, and whole lists begin at their beginning.
fn is_parameter(field: &Field) -> bool {
    field.name != "after_id" && (field.may_be_absent || !matches!(field.kind, Kind::Integer(_)))
}

/// Adds the value of a field to an encoded message. Fails with the violation if it is of another type.
fn encode(field: &Field, value: &str, message: &mut Vec<u8>) -> Result<(), String> {
    let number = field.number;
    let choice = |choices: &[&str]| {
        let index = choices.iter().position(|choice| *choice == value);
        index.ok_or_else(|| not_one_of(&label(field.name), choices))
    };
    match field.kind {
        Kind::Integer(_) => encoding::int64::encode(number, &integer(field, value)?, message),
        Kind::Flag => encoding::bool::encode(number, &(choice(YES_NO)? == 0), message),
        Kind::Choice(name) => {
            let values = ENUMS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, values)| values);
            encoding::int32::encode(number, &(choice(values)? as i32 + 1), message);
        }
        Kind::Text if field.is_list => {
            encoding::string::encode_repeated(
                number,
                &value.split(',').map(str::to_owned).collect::<Vec<_>>(),
                message,
            );
        }
        Kind::Text => encoding::string::encode(number, &value.to_owned(), message),
        // No parameter is a message.
        Kind::Message(_) => {}
    }
    Ok(())
}

fn integer(field: &Field, text: &str) -> Result<i64, String> {
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("The {} field must be an integer.", label(field.name)));
    }
    // A number that no `i64` holds is out of range, which the rules report.
    Ok(text.parse().unwrap_or(if is_negative { i64::MIN } else { i64::MAX }))
}

#[cfg(test)]
mod tests {
    use compliance_api::{
        error::Error,
        v1::{
            CaseSort, ListAllComplianceCasesRequest, ListAllComplianceUrlsRequest, ListComplianceCasesRequest,
            ListComplianceUrlsRequest, SortDirection, UrlSort,
        },
    };

    use super::ENUMS;

    fn urls(query: Option<&str>) -> Result<ListComplianceUrlsRequest, Error> {
        super::page(query)
    }

    fn cases(query: Option<&str>) -> Result<ListComplianceCasesRequest, Error> {
        super::page(query)
    }

    fn violations(query: &str) -> Vec<(String, String)> {
        let error = urls(Some(query)).unwrap_err();
        error.violations.into_iter().map(|violation| (violation.path, violation.message)).collect()
    }

    #[test]
    fn every_parameter_has_its_field() {
        let request = urls(Some(
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
    fn values_of_enums_have_the_numbers_of_the_contract() {
        for (name, values) in ENUMS {
            for (number, value) in (1..).zip(values) {
                let is_known = |prefix: &str, named: &str| named == format!("{prefix}_{}", value.to_uppercase());
                assert!(
                    match name {
                        "SortDirection" => SortDirection::try_from(number)
                            .is_ok_and(|known| is_known("SORT_DIRECTION", known.as_str_name())),
                        "UrlSort" =>
                            UrlSort::try_from(number).is_ok_and(|known| is_known("URL_SORT", known.as_str_name())),
                        _ => CaseSort::try_from(number).is_ok_and(|known| is_known("CASE_SORT", known.as_str_name())),
                    },
                    "{name} {value}"
                );
            }
        }
        let next = ENUMS.map(|(_, values)| i32::try_from(values.len()).unwrap() + 1);
        assert!(SortDirection::try_from(next[0]).is_err(), "every direction has a name");
        assert!(UrlSort::try_from(next[1]).is_err() && CaseSort::try_from(next[2]).is_err(), "every key has a name");
    }

    #[test]
    fn an_empty_parameter_is_absent_and_the_last_counts() {
        assert_eq!(urls(None).unwrap(), ListComplianceUrlsRequest::default());
        let request = urls(Some("disabled=&page=x&page=3&per_page=5&per_page=&%73ort_by=id"));
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
        let request = super::whole_list::<ListAllComplianceUrlsRequest>(Some(
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
        let error = super::whole_list::<ListAllComplianceCasesRequest>(Some(
            "page=1&sort_dir=asc&per_page=5&sort_by=id&case_status_id=0",
        ))
        .unwrap_err();
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
        assert_eq!(cases(Some("page=99999999999999999999")).unwrap().page, Some(i64::MAX));
        assert_eq!(cases(Some("page=-99999999999999999999")).unwrap().page, Some(i64::MIN));
    }
}
