//! `GET /cases`, filtered by state, risk, worker, follow-up and infraction.

use compliance_api::catalogue::Vocabulary;

use super::{
    Case,
    expect::{page, text},
    records, run_table,
};

/// A case of affiliate `<1>`. Zero IDs and empty texts are null.
struct Worked {
    status: i32,
    risk: i32,
    sub_status: i32,
    worker: &'static str,
    follow_up: &'static str,
    closed: &'static str,
    /// The incident's infraction type.
    infraction: i32,
}

/// Cases `<2>` to `<6>`, created on 1 to 5 February.
const WORKED: [Worked; 5] = [
    Worked {
        status: 1,
        risk: 3,
        sub_status: 1,
        worker: "ann",
        follow_up: "2024-03-01 10:00:00",
        closed: "",
        infraction: 2,
    },
    Worked {
        status: 2,
        risk: 1,
        sub_status: 0,
        worker: "Bob",
        follow_up: "2999-01-01 00:00:00",
        closed: "",
        infraction: 0,
    },
    Worked {
        status: 9,
        risk: 3,
        sub_status: 2,
        worker: "ann",
        follow_up: "2024-03-02 00:00:00",
        closed: "2024-03-05 23:59:59",
        infraction: 1,
    },
    Worked {
        status: 6,
        risk: 0,
        sub_status: 0,
        worker: "",
        follow_up: "",
        closed: "2024-03-06 00:00:00",
        infraction: 0,
    },
    Worked {
        status: 3,
        risk: 0,
        sub_status: 1,
        worker: "",
        follow_up: "2024-03-01 23:59:59",
        closed: "",
        infraction: 2,
    },
];

fn sql(value: &str) -> String {
    if value.is_empty() { "null".to_owned() } else { format!("'{value}'") }
}

fn given() -> Case {
    let mut case = Case::new("lists of worked cases").given_affiliate("A", "Ann");
    for (day, worked) in (1..).zip(&WORKED) {
        let Worked { status, risk, sub_status, worker, follow_up, closed, .. } = worked;
        let (worker, follow_up, closed) = (sql(worker), sql(follow_up), sql(closed));
        case = case.sql(&format!(
            "insert into compliance_cases (company_id, affiliate_id, created_date, case_status_id, risk_level_id, sub_status_id,
                case_worker, follow_up_date, closed_date)
            values (<company>, <1>, '2024-02-0{day}', {status}, nullif({risk}, 0), nullif({sub_status}, 0), {worker}, {follow_up},
                {closed})
            returning id"
        ));
    }
    for (id, worked) in (2..).zip(&WORKED).filter(|(_, worked)| worked.infraction > 0) {
        case = case.sql(&format!(
            "insert into incidents (company_id, case_id, incident_type, reference, infraction_type_id)
            values (<company>, <{id}>, 2, 'f', {}) returning id",
            worked.infraction
        ));
    }
    case
}

/// Returns a case as it appears in a response. `number` starts at 1.
fn case(number: usize) -> String {
    let worked = &WORKED[number - 1];
    let or_null = |value: &str| if value.is_empty() { "null".to_owned() } else { text(value) };
    let name = |vocabulary: Vocabulary, id: i32| vocabulary.default_name(id).map_or("null".to_owned(), text);
    let incident = WORKED[..number].iter().filter(|worked| worked.infraction > 0).count() + 6;
    let incidents = format!(
        r#"[{{"incident_id":<{incident}>,"incident_type":"form","infraction_type":{},"infraction_name":null,"url_id":null,"url":null,"reference":"f"}}]"#,
        name(Vocabulary::InfractionType, worked.infraction)
    );
    records::case(&[
        ("case_id", format!("<{}>", number + 1)),
        ("case_status", name(Vocabulary::CaseStatus, worked.status)),
        ("risk_level", name(Vocabulary::RiskLevel, worked.risk)),
        ("sub_status", name(Vocabulary::CaseSubStatus, worked.sub_status)),
        ("case_worker", or_null(worked.worker)),
        ("created_date", text(&format!("2024-02-0{number} 00:00:00"))),
        ("follow_up_date", or_null(worked.follow_up)),
        ("closed_date", or_null(worked.closed)),
        ("affiliate_name", text("Ann")),
        ("affiliate_id", text("A")),
        ("distributor_id", "<1>".to_owned()),
        ("incidents", if worked.infraction > 0 { incidents } else { "[]".to_owned() }),
    ])
}

/// Queries and the numbers of the matching cases.
const FOUND: &[(&str, &[usize])] = &[
    ("open=yes", &[5, 2, 1]),
    ("open=no", &[4, 3]),
    ("risk_level_id=3", &[3, 1]),
    ("risk_level_id=0", &[5, 4]),
    ("risk_level_id=9007199254740991", &[]),
    ("sub_status_id=1", &[5, 1]),
    ("sub_status_id=0", &[4, 2]),
    ("case_worker=ann", &[3, 1]),
    ("case_worker=Ann", &[]),
    ("case_worker=an", &[]),
    ("assigned=no", &[5, 4]),
    ("assigned=yes", &[3, 2, 1]),
    ("follow_up_after=2024-03-02", &[3, 2]),
    ("follow_up_before=2024-03-01", &[5, 1]),
    ("follow_up_after=2024-03-01&follow_up_before=2024-03-02", &[5, 3, 1]),
    ("overdue=yes", &[5, 1]),
    ("overdue=no", &[4, 3, 2]),
    ("closed_after=2024-03-06", &[4]),
    ("closed_before=2024-03-05", &[3]),
    ("closed_after=2024-03-05&closed_before=2024-03-06", &[4, 3]),
    ("infraction_type_id=2", &[5, 1]),
    ("infraction_type_id=9", &[]),
    ("sort_by=risk_level", &[3, 1, 2, 5, 4]),
    ("sort_by=risk_level&sort_dir=asc", &[2, 1, 3, 4, 5]),
    ("sort_by=case_status&sort_dir=asc", &[1, 2, 5, 4, 3]),
    ("sort_by=sub_status&sort_dir=asc", &[1, 5, 3, 2, 4]),
    ("sort_by=case_worker&sort_dir=asc", &[1, 3, 2, 4, 5]),
    ("sort_by=follow_up_date&sort_dir=asc", &[1, 5, 3, 2, 4]),
    ("sort_by=follow_up_date", &[2, 3, 5, 1, 4]),
    ("sort_by=infraction_type", &[5, 1, 3, 4, 2]),
    ("open=yes&sort_by=created_dt&sort_dir=asc", &[1, 2, 5]),
    ("open=yes&case_status_id=3&distributor_id=<1>", &[5]),
    ("open=yes&distributor_id=9007199254740991", &[]),
    ("open=yes&created_after=2024-02-02&created_before=2024-02-03", &[2]),
    ("open=yes&created_after=2024-02-06", &[]),
    (
        "open=no&risk_level_id=3&case_worker=ann&assigned=yes&sub_status_id=2&infraction_type_id=1&closed_after=2024-03-05",
        &[3],
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_lists_support_case_work_filters() {
    let mut lists = given();
    for (query, numbers) in FOUND {
        let records: Vec<String> = numbers.iter().map(|number| case(*number)).collect();
        lists = lists.get(&format!("/cases?{query}"), page("Cases found", &records, records.len() as u32, 100, 1, 1));
    }
    lists = lists
        .get("/cases?open=yes&per_page=1&page=2", page("Cases found", &[case(2)], 3, 1, 2, 3))
        .get("/cases?open=yes&per_page=2&page=3", page("Cases found", &[], 3, 2, 3, 2));
    run_table(vec![lists]).await;
}
