//! Tests headings and the rows around them.

use spreadsheets::Options;

use crate::support::{ONE, fails, options, reads};

#[test]
fn unnamed_columns_are_noted_once() {
    let note = "# ignored columns without a heading: 1 (A)";
    reads(",client_affiliate_id,affiliate_name\n0,A-1,Ann\n", options(), &[note, ONE[0]]);
    reads("Unnamed: 0,client_affiliate_id,affiliate_name\n0,A-1,Ann\n", options(), &[note, ONE[0]]);
}

#[test]
fn headings_accept_many_spellings() {
    let row = "A-1,Ann,ann@example.org,1,8000,active,2026-05-01,C,F\n";
    let expected = "2 client_affiliate_id=A-1 affiliate_name=Ann email_one=ann@example.org phone_one=1 first_name=F zip=8000 status=active start_date=2026-05-01 company_name=C";
    for header in [
        "client_affiliate_id,affiliate_name,email_one,phone_one,zip,status,start_date,company_name,first_name",
        "Client Affiliate Id,AFFILIATE NAME,Email One,Phone One,Zip,Status,Start Date,Company Name,First Name",
        "client\u{a0}affiliate\u{a0}id,affiliate-name , email-one,phone-one,zip,\u{feff}status,start-date\u{200b},company-name,first-name",
        "clientAffiliateId,affiliateName,emailOne,phoneOne,zip,status,startDate,companyName,firstName",
        "Your affiliate ID,Name,E-mail,Phone,ZIP or postal code,Status,Start date,Company,First name",
        "Your affiliate ID,Affiliate name,E-mail 1,Phone 1,Postal code,Affiliate status,Start date,Company name,First name",
    ] {
        reads(format!("{header}\n{row}"), options(), &[expected]);
    }
    reads(
        "id,client_id,client_distributor_id,distributor_name,distributor_status,country\n7,1,A-1,Ann,active,276\n",
        options(),
        &[
            "# ignored fields that the service assigns: id, client_id",
            "2 client_affiliate_id=A-1 affiliate_name=Ann country=DE status=active",
        ],
    );
}

#[test]
fn files_with_wrong_headings_are_rejected() {
    for (header, expected) in [
        (
            "client_affiliate_id,affiliate_name,city,City",
            "columns 3 (\"city\") and 4 (\"City\") both map to the field city: remove one",
        ),
        (
            "client_affiliate_id,affiliate_name,distributor_name",
            "columns 2 (\"affiliate_name\") and 3 (\"distributor_name\") both map to the field affiliate_name: map \"distributor_name\"",
        ),
        ("client_affiliate_id,affiliate_name,shoe size", "the column \"shoe size\" is not a field"),
        (
            "client_affiliate_id,shoe size,affiliate_name,hat size",
            "the columns \"shoe size\", \"hat size\" are not fields: map each",
        ),
        ("A-1,Ann", "no cell in the first row is a field name: A-1, Ann"),
        ("affiliate_name,city", "no column contains the required field client_affiliate_id"),
    ] {
        let error = fails(format!("{header}\nA-1,Ann,44\n"), options(), expected);
        assert_eq!(error.option(), Some("columns"));
    }
    for blank in ["", "\n\r\n ,,\n"] {
        fails(blank, options(), "the file is empty");
    }
}

#[test]
fn columns_can_be_mapped() {
    let columns = |pairs: &[(&str, &str)]| Options {
        columns: pairs.iter().map(|(heading, field)| ((*heading).to_owned(), (*field).to_owned())).collect(),
        ..options()
    };
    let text = "Nr.,Partner,Remarks\nA-1,Ann,x\n";
    reads(text, columns(&[("Nr.", "client_affiliate_id"), ("partner", "Name"), ("Remarks", "")]), &ONE);
    fails(
        text,
        columns(&[("Nr.", "client_affiliate_id"), ("Partner", "affiliate_name"), ("Remark", "")]),
        "does not contain the column Remark;",
    );
    let alike = "Nr.,Partner,Notes*,Notes\nA-1,Ann,x,y\n";
    let mapped = columns(&[("Nr.", "client_affiliate_id"), ("Partner", "affiliate_name"), ("Notes*", "")]);
    fails(
        alike,
        mapped,
        "the mapping of \"Notes*\" also matches another column: map \"Notes*\" and \"Notes\" separately",
    );
    fails(text, columns(&[("Nr.", "number")]), "cannot be mapped to the unknown field number");
    fails(text, columns(&[("Nr.", "id")]), "cannot be mapped to the unknown field id");
    fails(text, columns(&[("Nr.", "city"), ("Nr.", "zip")]), "mapped twice");
    let all = [("Nr.", "client_affiliate_id"), ("Partner", "affiliate_name"), ("Remarks", ""), ("Town", "city")];
    fails(text, columns(&all), "does not contain the column Town");
}

#[test]
fn titles_are_ignored_and_totals_rejected() {
    let text = "Affiliates of May 2026\n\nclient_affiliate_id,affiliate_name,city\nA-1,Ann,Ulm\nTotal:,1,\n";
    reads(
        text,
        options(),
        &[
            "# ignored rows above the headings: 1 to 1",
            "4 client_affiliate_id=A-1 affiliate_name=Ann city=Ulm",
            "5 !  : The row seems to contain totals",
        ],
    );
    // Identifiers contain digits.
    for id in ["SUM100", "TOTAL-7", "Total7"] {
        reads(
            format!("client_affiliate_id,affiliate_name,zip\n{id},7-11,123\n"),
            options(),
            &[&format!("2 client_affiliate_id={id} affiliate_name=7-11 zip=123")],
        );
    }
    // Any row can contain totals. A name contains letters.
    for total in [
        "Subtotal",
        "Grand total",
        "Total (1)",
        "Total affiliates",
        "Total records: 5",
        "Germany Total",
        "Anzahl",
        "Totaal",
        "Suma",
        "\u{418}\u{442}\u{43e}\u{433}\u{43e}",
        "Total g\u{e9}n\u{e9}ral",
        "\u{5408}\u{8a08}",
    ] {
        reads(
            format!("client_affiliate_id,affiliate_name\n{total},1\nTotal,Total Ltd\n"),
            options(),
            &["2 !  : The row seems to contain totals", "3 client_affiliate_id=Total affiliate_name=Total Ltd"],
        );
    }
}

#[test]
fn names_may_match_headings_or_totals() {
    reads(
        "client_affiliate_id,affiliate_name\nA-1,Name\n",
        options(),
        &["2 client_affiliate_id=A-1 affiliate_name=Name"],
    );
    for name in ["Total Life Changes", "Count Basie", "Suma Reddy"] {
        let text = format!("affiliate_name,client_affiliate_id\n{name},10001\n");
        reads(text, options(), &[&format!("2 client_affiliate_id=10001 affiliate_name={name}")]);
    }
    reads(
        "zip,client_affiliate_id,affiliate_name\n12,Total,7\n",
        options(),
        &["2 !  : The row seems to contain totals"],
    );
}

#[test]
fn every_unnamed_column_is_noted() {
    reads(
        "client_affiliate_id,affiliate_name,,city,Unnamed: 4,\nA-1,Ann,x,,,\nA-2,Ben,,,y,z\n",
        options(),
        &[
            "# ignored columns without a heading: 3 (C), 5 (E), 6 (F)",
            "2 client_affiliate_id=A-1 affiliate_name=Ann",
            "3 client_affiliate_id=A-2 affiliate_name=Ben",
        ],
    );
}

#[test]
fn joined_tables_with_different_headings_are_rejected() {
    for second in [
        "affiliate_name,client_affiliate_id\nBen,A-2\n",
        "Your affiliate ID,Name,City\nA-2,Ben,\n",
        "client_affiliate_id,affiliate_name\nA-2,Ben\n",
        "client_affiliate_id,affiliate_name,Fax\nA-2,Ben,\n",
        "Your affiliate ID,Full name X,Fax\nA-2,Ben,\n",
        "ID,Name,Town\nA-2,Ben,\n",
        "Number,affiliate_name,city\nA-2,Ben,\n",
    ] {
        let text = format!("client_affiliate_id,affiliate_name,city\nA-1,Ann,Ulm\n{second}");
        fails(text, options(), "row 3 contains different headings from row 1");
    }
}

#[test]
fn repeated_headings_are_skipped() {
    let file = "\u{feff}client_affiliate_id,affiliate_name\r\nA-1,Ann\r\n";
    let second = "\u{feff}\"client_affiliate_id\",\"affiliate_name\"\r\n\"A-2\",Ben\r\n";
    let lines =
        ["# ignored a row that repeats the headings: 3", ONE[0], "4 client_affiliate_id=A-2 affiliate_name=Ben"];
    reads(format!("{file}{second}"), options(), &lines);
    reads(format!("{file}{}", second.replace('"', "")), options(), &lines);
    // A byte order mark before a record, quoted or not.
    reads(
        format!("{file}\u{feff}\"A-2\",Ben\r\n"),
        options(),
        &[ONE[0], "3 client_affiliate_id=A-2 affiliate_name=Ben"],
    );
    reads(format!("{file}\u{feff}A-2,Ben\r\n"), options(), &[ONE[0], "3 client_affiliate_id=A-2 affiliate_name=Ben"]);
}

#[test]
fn records_above_headings_are_rejected() {
    for above in ["A-0,Zoe,,", "A-0,Zoe,Ulm,1", "x,y,z", "Exported,2026-05-01"] {
        let text = format!("Partners\n{above}\nclient_affiliate_id,affiliate_name,city\nA-1,Ann,\n");
        let error = fails(text, options(), "row 2 is above the headings in row 3, and may be a record");
        assert_eq!(error.option(), Some("columns"));
    }
    fails(
        "https://a.example/\nclient_affiliate_id\nA-1\n",
        Options { required: &["client_affiliate_id"], ..options() },
        "row 1",
    );
    // A title and the export date.
    let note = "# ignored rows above the headings: 1 to 2";
    let text = "Partners\nExported:,2026-05-01\nclient_affiliate_id,affiliate_name,city\nA-1,Ann,\n";
    reads(text, options(), &[note, "4 client_affiliate_id=A-1 affiliate_name=Ann"]);
    // A title that equals a heading.
    let required = || Options { required: &["client_affiliate_id"], ..options() };
    let text = "Client affiliate ID\n\nclient_affiliate_id,affiliate_name\nA-1,Ann\n";
    let note = "# ignored rows above the headings: 1 to 1";
    reads(text, required(), &[note, "4 client_affiliate_id=A-1 affiliate_name=Ann"]);
}

#[test]
fn headings_determine_separator() {
    for title in ["Affiliates, June, all", "Affiliates", "A|B|C|D"] {
        for separator in [";", "\t"] {
            let text = format!("{title}\nclient_affiliate_id,affiliate_name\nA-1,Ann\n")
                .replace("d,a", &format!("d{separator}a"))
                .replace("1,", &format!("1{separator}"));
            let note = "# ignored rows above the headings: 1 to 1";
            reads(text, options(), &[note, "3 client_affiliate_id=A-1 affiliate_name=Ann"]);
        }
    }
}
