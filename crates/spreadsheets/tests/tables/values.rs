//! Tests cell values.

use spreadsheets::{Empty, Options, Order};

use crate::support::{ONE, fails, options, reads};

#[test]
fn surrounding_invisible_characters_are_removed() {
    for space in ["\u{200b}", "\u{202a}", "\u{feff}", "\u{a0}", " ", "\u{200e}", "\u{3000}", "\u{ad}"] {
        let text = format!(
            "{space}client_affiliate_id,{space}affiliate_name{space},country\n{space}A-1{space},Ann{space},{space}us\u{202c}\n"
        );
        reads(text, options(), &["2 client_affiliate_id=A-1 affiliate_name=Ann country=us"]);
    }
}

#[test]
fn empty_cells_clear_or_omit_fields() {
    let text = "client_affiliate_id,affiliate_name,city,zip\nA-1,Ann,,8000\nA-2,Ben\n";
    reads(
        text,
        options(),
        &["2 client_affiliate_id=A-1 affiliate_name=Ann zip=8000", "3 client_affiliate_id=A-2 affiliate_name=Ben"],
    );
    let clears = Options { empty: Empty::Clears, ..options() };
    reads(
        text,
        clears,
        &[
            "2 client_affiliate_id=A-1 affiliate_name=Ann city=- zip=8000",
            "3 !  : The row has 2 columns, but the heading row has 4; is a separator or a quote missing?",
        ],
    );
}

/// Identifiers that look the same are equal.
#[test]
fn identifiers_are_normalized() {
    let invisible = ('\u{200b}'..='\u{200f}').chain('\u{202a}'..='\u{202e}').chain('\u{2060}'..='\u{206f}');
    let invisible = invisible.chain("\u{ad}\u{61c}\u{180e}\u{feff}\u{fe0f}\u{3164}".chars());
    for space in invisible {
        let text =
            format!("client_{space}affiliate_id,affiliate_name,sponsor_id\n{space}A{space}-1{space},Ann,B{space}1\n");
        reads(text, options(), &["2 client_affiliate_id=A-1 affiliate_name=Ann sponsor_id=B1"]);
    }
    let text = "client_affiliate_id,affiliate_name\nA\u{308}\u{a0}1,Ann O\u{308}\n";
    reads(text, options(), &["2 client_affiliate_id=\u{c4} 1 affiliate_name=Ann \u{d6}"]);
    // Text values keep characters that join or modify others.
    let text = "client_affiliate_id,affiliate_name\nA-1,\u{646}\u{200c}\u{645} \u{2764}\u{fe0f}\n";
    reads(text, options(), &["2 client_affiliate_id=A-1 affiliate_name=\u{646}\u{200c}\u{645} \u{2764}\u{fe0f}"]);
    let columns =
        vec![("E\u{301}tat".to_owned(), "state".to_owned()), ("#".to_owned(), "client_affiliate_id".to_owned())];
    let text = "#,affiliate_name,\u{c9}tat\nA-1,Ann,x\n,affiliate_name,\u{c9}tat\n";
    fails(text, Options { columns, ..options() }, "row 3 contains different headings from row 1");
}

#[test]
fn numbers_with_lost_digits_are_rejected() {
    for text in [
        "4.91512E+11",
        "4,91512E+11",
        "1E+15",
        "-1.5e-07",
        "4.91512e+11 ",
        "4.91512E11",
        "491.512E+9",
        "4.91512345678e11",
        "12E5",
        "+1e5",
        ".5E12",
    ] {
        let quoted = format!("client_affiliate_id,affiliate_name\n\"{text}\",Ann\n");
        reads(quoted, options(), &["2 ! client_affiliate_id client_affiliate_id: The number"]);
    }
    for text in ["E+11", "E5", "12E", "A1E+11", "12E5A", "1E-", "1.2.3E5"] {
        reads(
            format!("client_affiliate_id,affiliate_name\n{text},Ann\n"),
            options(),
            &[&format!("2 client_affiliate_id={text} affiliate_name=Ann")],
        );
    }
}

#[test]
fn formula_errors_are_rejected() {
    for error in ["#N/A", "#REF!", " #DIV/0! ", "#SPILL!"] {
        reads(
            format!("Your affiliate ID,Name,City\nA-1,Ann,{error}\n"),
            options(),
            &["2 ! City city: The cell contains the formula error"],
        );
    }
}

#[test]
fn countries_accept_names_and_codes() {
    for (text, code) in [("Germany", "DE"), ("276", "DE"), ("U.K.", "GB"), ("Côte d’Ivoire", "CI"), ("us", "us")] {
        reads(
            format!("client_affiliate_id,affiliate_name,Country\nA-1,Ann,{text}\n"),
            options(),
            &[&format!("{} country={code}", ONE[0])],
        );
    }
    for text in ["Atlantis", "-", "999"] {
        reads(
            format!("client_affiliate_id,affiliate_name,Country\nA-1,Ann,{text}\n"),
            options(),
            &[&format!("2 ! Country country: {text} is not a known country; enter a two-letter code")],
        );
    }
}

#[test]
fn status_names_ignore_case() {
    reads(
        "client_affiliate_id,affiliate_name,Status\nA-1,Ann,Active\nA-2,Ben,ACTIVE\nA-3,Cy,gone\n",
        options(),
        &[
            &format!("{} status=active", ONE[0]),
            "3 client_affiliate_id=A-2 affiliate_name=Ben status=active",
            "4 ! Status status: The selected status is invalid.",
        ],
    );
}

fn days(days: &[&str]) -> String {
    let rows = days.iter().zip(1..).map(|(day, number)| format!("A-{number},Ann,{day}\n"));
    format!("client_affiliate_id,affiliate_name,start_date\n{}", rows.collect::<String>())
}

fn dates(order: Order) -> Options {
    Options { dates: Some(order), ..options() }
}

#[track_caller]
fn reads_days(written: &[&str], options: Options, expected: &[&str]) {
    let lines = (2..).zip(expected).map(|(line, day)| match day.strip_prefix('!') {
        Some(reason) => format!("{line} ! start_date start_date: {reason}"),
        None => format!("{line} client_affiliate_id=A-{} affiliate_name=Ann start_date={day}", line - 1),
    });
    let lines: Vec<String> = lines.collect();
    reads(days(written), options, &lines.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn common_date_formats_are_accepted() {
    let may = ["2026-05-01", "2026-05-25"];
    for written in [
        ["2026-05-01", "2026-05-25"],
        ["2026-05-01 00:00:00", "2026-05-25T00:00:00.000Z"],
        ["2026-05-01 00:00:00+02:00", "2026-05-25T00:00:00-0700"],
        ["2026/5/1", "2026/05/25"],
        ["2026.05.01", "2026.5.25"],
        ["1/5/2026", "25/5/2026"],
        ["5/1/2026", "5/25/2026"],
        ["5/1/2026 12:00:00 AM", "5/25/2026 0:00"],
        ["1.5.2026", "25.05.2026"],
        ["1-5-2026", "25-05-2026"],
    ] {
        reads_days(&written, options(), &may);
    }
    reads_days(&["5/5/2026", "12/12/2026"], options(), &["2026-05-05", "2026-12-12"]);
    // Month 13 does not exist.
    reads_days(&["1/12/2026", "1/13/2026"], options(), &["2026-01-12", "2026-01-13"]);
    reads_days(&["12/1/2026", "13/1/2026"], options(), &["2026-01-12", "2026-01-13"]);
    fails(days(&["1/12/2026", "12/1/2026"]), options(), "is ambiguous");
    reads_days(
        &["05/01/26", "2026-05-01 14:30:00"],
        options(),
        &["!The year in 05/01/26 has only two digits", "!2026-05-01 14:30:00 contains a time; enter only the date"],
    );
    for text in ["1. Mai 2026", "1 May 2026", "20260501", "2026", "-", "2026-05-01 noon"] {
        reads_days(
            &[text],
            options(),
            &[&format!("!{text} is not a date in a known form; write the date as YYYY-MM-DD.")],
        );
    }
    reads_days(&["2026-02-30", "31/31/2026"], options(), &["!The start date", "!The start date"]);
}

#[test]
fn unreadable_cells_do_not_hide_other_errors() {
    let text = "client_affiliate_id,affiliate_name,email_one,country,phone_one,start_date\n\
                4.9E+11,Ann,nobody,Atlantis,4.9E+11,05/01/26\n\
                A-2,,nobody,,,2026-01-31\n";
    reads(
        text,
        options(),
        &[
            "2 ! client_affiliate_id client_affiliate_id: The number 4.9E+11 has lost",
            "2 ! phone_one phone_one: The number 4.9E+11 has lost",
            "2 ! start_date start_date: The year in 05/01/26 has only",
            "2 ! country country: Atlantis is not a known country",
            "2 ! email_one email_one: The email one field must be a valid email",
            "3 ! affiliate_name affiliate_name: The affiliate name field is required",
            "3 ! email_one email_one: The email one field must be a valid email",
        ],
    );
}

#[test]
fn ambiguous_dates_without_order_are_rejected() {
    let ambiguous = ["2026-05-01", "1/5/2026", "02/03/2026"];
    let error = fails(days(&ambiguous), options(), "1/5/2026 on line 3 is ambiguous");
    assert_eq!(error.option(), Some("dates"));
    reads_days(&ambiguous, dates(Order::Dmy), &["2026-05-01", "2026-05-01", "2026-03-02"]);
    reads_days(&ambiguous, dates(Order::Mdy), &["2026-05-01", "2026-01-05", "2026-02-03"]);
    let other = "!1/5/2026 is not a date with the year first";
    reads_days(&ambiguous[..2], dates(Order::Ymd), &["2026-05-01", other]);
    reads_days(&["05/26/2026"], dates(Order::Dmy), &["!05/26/2026 is not a date with the day first"]);
    fails(
        days(&["1/5/2026", "25/5/2026", "5/26/2026"]),
        options(),
        "25/5/2026 on line 3 puts the day first, but 5/26/2026 on line 4 puts the month first",
    );
}
