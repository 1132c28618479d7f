//! Invalid parameters of `GET /affiliates`, `GET /urls` and `GET /cases`.

use compliance_api::{
    description::Kind,
    rules::Check as _,
    v1::{ListAffiliatePageRequest, ListComplianceCasesRequest, ListComplianceUrlsRequest},
};

use super::{
    Case,
    expect::{Expect, invalid, invalid_one},
    run_table,
};

const SORT_DIR: &str = "The selected sort dir is invalid. It must be one of: asc, desc.";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_parameters_are_rejected() {
    let per_page = "The per page field must be between 1 and 200.";
    let mut table = Vec::new();
    let mut add = |path: &str, query: &str, expected: Expect, only_rest: bool| {
        let case = Case::new(format!("{path}?{query}")).get(&format!("{path}?{query}"), expected);
        table.push(if only_rest { case.only_rest() } else { case });
    };
    let affiliates = ListAffiliatePageRequest::MESSAGE;
    let (urls, cases) = (ListComplianceUrlsRequest::MESSAGE, ListComplianceCasesRequest::MESSAGE);
    let dates_of_urls = ["discovery_after", "discovery_before", "infraction_after", "infraction_before"];
    let dates_of_cases =
        ["created_after", "created_before", "follow_up_after", "follow_up_before", "closed_after", "closed_before"];
    for (path, request, dates, sorts) in [
        ("/affiliates", affiliates, &[][..], ["distributor_name", "city", "ID", "created_dt"]),
        ("/urls", urls, &dates_of_urls, ["created_dt", "url", "ID", "discovery_date"]),
        ("/cases", cases, &dates_of_cases, ["discovery_dt", "case_id", "ID", "created_date"]),
    ] {
        let of_kind = |kind| request.fields.iter().filter(move |field| field.kind == kind).map(|field| field.name);
        for value in ["0", "-1", "201", "9007199254740992", "-9223372036854775808"] {
            add(path, &format!("per_page={value}"), invalid_one("per_page", per_page), false);
        }
        add(path, "per_page=99999999999999999999", invalid_one("per_page", per_page), true);
        for name in of_kind(Kind::Integer(64)).filter(|name| *name != "per_page") {
            let label = name.replace('_', " ");
            // For these fields, 0 selects cases without a value.
            let least = i32::from(!["risk_level_id", "sub_status_id"].contains(&name));
            let between = format!("The {label} field must be between {least} and 9007199254740991.");
            for value in [&*(least - 1).to_string(), "-2", "9007199254740992", "9223372036854775807"] {
                add(path, &format!("{name}={value}"), invalid_one(name, &between), false);
            }
            add(path, &format!("{name}=99999999999999999999"), invalid_one(name, &between), true);
        }
        for name in of_kind(Kind::Integer(64)) {
            let message = format!("The {} field must be an integer.", name.replace('_', " "));
            for value in ["abc", "5.0", "5e0", "0x5", "%2B5", "%205", "5%20", "%00", "%FF", "true", "%D9%A5"] {
                add(path, &format!("{name}={value}"), invalid_one(name, &message), true);
            }
        }
        for name in dates {
            let message = format!("The {} field must be an existing date.", name.replace('_', " "));
            for value in ["2024-02-30", "2023-02-29", "0000-01-01"] {
                add(path, &format!("{name}={value}"), invalid_one(name, &message), false);
            }
            let message = format!("The {} field must match the format YYYY-MM-DD.", name.replace('_', " "));
            for value in ["02/29/2024", "2024-2-9", "yesterday", "2024-02-29T00:00:00", "20240229"] {
                add(path, &format!("{name}={value}"), invalid_one(name, &message), false);
            }
        }
        for name in of_kind(Kind::Flag) {
            let message = format!("The {} field must be yes or no.", name.replace('_', " "));
            for value in ["maybe", "Yes", "true", "1"] {
                add(path, &format!("{name}={value}"), invalid_one(name, &message), true);
            }
        }
        let sort_by = match path {
            "/affiliates" => {
                "The selected sort by is invalid. It must be one of: id, affiliate_name, status, start_date, last_updated_date."
            }
            "/urls" => {
                "The selected sort by is invalid. It must be one of: id, discovery_dt, last_review_dt, last_seen."
            }
            _ => {
                "The selected sort by is invalid. It must be one of: id, created_dt, case_status, sub_status, risk_level, \
                 case_worker, follow_up_date, infraction_type."
            }
        };
        for value in sorts {
            add(path, &format!("sort_by={value}"), invalid_one("sort_by", sort_by), true);
        }
        for value in ["up", "ASC", "Desc"] {
            add(path, &format!("sort_dir={value}"), invalid_one("sort_dir", SORT_DIR), true);
        }
    }
    let status = "The selected status is invalid. It must be one of: active, inactive, probation, suspended, terminated, forgotten.";
    let (country, code) = (
        "The selected country is invalid. It must be an ISO 3166-1 alpha-2 code.",
        "The country field must be 2 characters.",
    );
    add("/affiliates", "status=Active", invalid_one("status", status), false);
    add("/affiliates", "country=ZZ", invalid_one("country", country), false);
    add("/affiliates", "country=840", invalid_one("country", code), false);
    add(
        "/affiliates",
        "page=0&per_page=201&status=new",
        invalid(&[
            ("status", status),
            ("per_page", per_page),
            ("page", "The page field must be between 1 and 9007199254740991."),
        ]),
        false,
    );
    let several = |label: &str| format!("The {label} field must have only one value. The request has several.");
    add("/urls", "disabled=yes&disabled=no&disabled=yes", invalid_one("disabled", &several("disabled")), true);
    add(
        "/cases",
        "case_status_id=1&page=1&case_status_id=2",
        invalid_one("case_status_id", &several("case status id")),
        true,
    );
    add(
        "/urls",
        "page=0&per_page=201&discovery_before=x&distributor_id=0",
        invalid(&[
            ("distributor_id", "The distributor id field must be between 1 and 9007199254740991."),
            ("discovery_before", "The discovery before field must match the format YYYY-MM-DD."),
            ("per_page", per_page),
            ("page", "The page field must be between 1 and 9007199254740991."),
        ]),
        false,
    );
    add(
        "/cases",
        "page=x&per_page=0&created_after=x&sort_dir=x",
        invalid(&[
            ("created_after", "The created after field must match the format YYYY-MM-DD."),
            ("sort_dir", SORT_DIR),
            ("per_page", per_page),
            ("page", "The page field must be an integer."),
        ]),
        true,
    );
    run_table(table).await;
}
