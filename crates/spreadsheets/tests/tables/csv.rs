//! CSV in all its forms.

use compliance_api::{csv_cell::Escape, record::Record as _, v1::AffiliateInput};
use spreadsheets::{Empty, Encoding, Options, Order};

use crate::support::{fails, options, reads};

const TEXT: &str = "client_affiliate_id,affiliate_name,city\nA-1,Jürgen Groß,Köln\nA-2,\"Renée, Zoë\",Orléans\n";
const TWO: [&str; 2] = [
    "2 client_affiliate_id=A-1 affiliate_name=Jürgen Groß city=Köln",
    "3 client_affiliate_id=A-2 affiliate_name=Renée, Zoë city=Orléans",
];
const ONE: [&str; 1] = ["2 client_affiliate_id=A-1 affiliate_name=Ann"];

fn with_semicolons() -> String {
    TEXT.replace("\"Renée, Zoë\"", "§").replace(',', ";").replace('§', "Renée, Zoë")
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

#[test]
fn every_encoding_is_read() {
    let crlf = with_semicolons().replace('\n', "\r\n");
    for text in [TEXT, &crlf, &crlf.trim_end().replace("\r\n", "\r"), &format!("\u{feff}{crlf}"), crlf.trim_end()] {
        reads(text, options(), &TWO);
    }
    let marked = format!("\u{feff}{crlf}");
    for text in [&marked, &crlf] {
        reads(utf16(text, u16::to_le_bytes), options(), &TWO);
        reads(utf16(text, u16::to_be_bytes), options(), &TWO);
    }
    let named = |encoding| Options { encoding: Some(encoding), ..options() };
    let windows = encoding_rs::WINDOWS_1252.encode(&crlf).0.into_owned();
    reads(windows, named(Encoding::Windows1252), &TWO);
    // Mac Roman, with its line ends.
    let mac = with_semicolons().replace('\n', "\r");
    let mac: Vec<u8> = mac
        .chars()
        .map(|next| match next {
            'ü' => 0x9f,
            'ß' => 0xa7,
            'ö' => 0x9a,
            'é' => 0x8e,
            'ë' => 0x91,
            next => next as u8,
        })
        .collect();
    reads(mac.clone(), named(Encoding::Macintosh), &TWO);
    // A byte order mark wins.
    reads(marked, named(Encoding::Windows1252), &TWO);
    for (bytes, expected) in [
        (&b"id,name\n1,J\xfcrgen\n"[..], r#"line 2 has "Jürgen" if it is Windows-1252 and "J¸rgen" if"#),
        (b"id;name\r1;A\r2;J\x9frgen", r#"line 3 has "JŸrgen" if it is Windows-1252 and "Jürgen" if"#),
        (b"id;name\r\n1;A\r\n\xfc", r#"line 3 has "ü" if"#),
        (b"name\ncut \xc3", r#"line 2 has "cut Ã" if"#),
        (b"\xef\xbb\xbfname\n\xfc", r#"line 2 has "ü" if"#),
    ] {
        assert_eq!(fails(bytes, options(), expected).option(), Some("encoding"));
    }
    // A character across the border of two pieces.
    let mut long = b"client_affiliate_id,affiliate_name\nA-1,".to_vec();
    long.resize((16 << 10) - 1, b'x');
    long.extend("ü\n".as_bytes());
    reads(
        long.clone(),
        options(),
        &["2 ! affiliate_name affiliate_name: The affiliate name field must not be greater"],
    );
    long.extend("A-2,Ann\n".repeat(50_000).bytes());
    long.push(0xfc);
    fails(long, options(), "line 50003 has \"ü\"");
}

#[test]
fn bytes_outside_the_encoding_are_rejected() {
    // MS-DOS: ü is 0x81, ä is 0x84, which Windows-1252 has as another character.
    let dos = b"client_affiliate_id,affiliate_name\nA-1,B\x84r\nA-2,J\x81rgen\n";
    let named = |encoding| Options { encoding: Some(encoding), ..options() };
    fails(*dos, named(Encoding::Windows1252), "line 3 has the byte 0x81, which Windows-1252 does not have");
    let lone = utf16("client_affiliate_id,affiliate_name\n", u16::to_le_bytes);
    fails([lone, vec![0, 0xd8, b'a', 0]].concat(), options(), "line 2 is not UTF-16LE");
    reads(
        "client_affiliate_id,affiliate_name,city\nA-1,J\u{fffd}rgen,\nA-2,J\u{81}rgen,\u{9d}\n",
        options(),
        &[
            "2 ! affiliate_name affiliate_name: The text has lost a character",
            "3 ! affiliate_name affiliate_name: The text has lost a character",
            "3 ! city city: The text has lost a character",
        ],
    );
}

#[test]
fn separators_are_found() {
    for separator in ["\t", "|", ";"] {
        reads(with_semicolons().replace(';', separator), options(), &TWO);
    }
    let lines = [
        "3 client_affiliate_id=A-1 affiliate_name=Jürgen Groß city=Köln",
        "4 client_affiliate_id=A-2 affiliate_name=Renée, Zoë city=Orléans",
    ];
    for (first, separator) in [("sep=;\r\n", ";"), ("\"sep=|\"\n", "|"), ("\u{feff}SEP=\t\r\n", "\t")] {
        reads(format!("{first}{}", with_semicolons().replace(';', separator)), options(), &lines);
    }
}

#[test]
fn blank_rows_and_empty_cells_are_ignored() {
    for text in [
        "client_affiliate_id,affiliate_name,\nA-1,Ann,\n",
        "client_affiliate_id,affiliate_name,,\nA-1,Ann\n",
        "client_affiliate_id,affiliate_name\nA-1,Ann,,\n",
        "client_affiliate_id,affiliate_name\nA-1,Ann\n,\r\n , \n\n",
        "client_affiliate_id,affiliate_name,city\r\nA-1,Ann\r\n",
        "client_affiliate_id,affiliate_name,city\rA-1,Ann\r",
    ] {
        reads(text, options(), &ONE);
    }
    reads(
        ",,\n\nclient_affiliate_id,affiliate_name\nA-1,Ann\n",
        options(),
        &["4 client_affiliate_id=A-1 affiliate_name=Ann"],
    );
}

#[test]
fn columns_without_a_heading_are_named_once() {
    let note = "# ignored, because it has no heading: column 1 (A)";
    reads(",client_affiliate_id,affiliate_name\n0,A-1,Ann\n", options(), &[note, ONE[0]]);
    reads("Unnamed: 0,client_affiliate_id,affiliate_name\n0,A-1,Ann\n", options(), &ONE);
}

#[test]
fn lines_are_counted_within_quotes() {
    let text = "client_affiliate_id,affiliate_name,notes\r\nA-1,\"Ann \"\"A\"\" B\",\"one\ntwo\"\r\n\r\nA-2,Ben,\r\nA-3,,x\r\n";
    reads(
        text,
        options(),
        &[
            "2 client_affiliate_id=A-1 affiliate_name=Ann \"A\" B notes=one\ntwo",
            "5 client_affiliate_id=A-2 affiliate_name=Ben",
            "6 ! affiliate_name affiliate_name: The affiliate name field is required.",
        ],
    );
}

/// Different line ends in a file lose no row.
#[test]
fn line_ends_can_be_mixed() {
    let lines =
        [ONE[0], "3 client_affiliate_id=A-2 affiliate_name=Ben", "4 client_affiliate_id=A-3 affiliate_name=Carl"];
    for ends in [["\r", "\r\n", "\n", "\r"], ["\n", "\r", "\r\n", "\n"], ["\r\n", "\n", "\r", "\r\n"]] {
        let rows = ["client_affiliate_id,affiliate_name", "A-1,Ann", "A-2,Ben", "A-3,Carl"];
        let text: String = rows.into_iter().zip(ends).flat_map(|(row, end)| [row, end]).collect();
        reads(text, options(), &lines);
    }
}

#[test]
fn damaged_rows_are_rejected() {
    reads(
        "client_affiliate_id,affiliate_name\nA-1,Ann\nA-2\nA-3,Ben,x\nA-4,Carl\n",
        options(),
        &[
            ONE[0],
            "3 !  : The row has 1 columns, and the row of headings has 2; is a separator or a quote missing?",
            "4 !  : The row has 3 columns, and the row of headings has 2",
            "5 client_affiliate_id=A-4 affiliate_name=Carl",
        ],
    );
    let text = "client_affiliate_id,affiliate_name,city,notes\r\nA-1,Ann\r\nA-2,Ben";
    let lines = [ONE[0], "3 !  : The row has 2 columns, and the row of headings has 4; is the file cut off?"];
    reads(text, options(), &lines);
    reads(utf16(text, u16::to_le_bytes), options(), &lines);
    reads(format!("{text},,"), options(), &[ONE[0], "3 client_affiliate_id=A-2 affiliate_name=Ben"]);
}

#[test]
fn wrong_quotes_are_errors_of_the_file() {
    let header = "client_affiliate_id,affiliate_name\n";
    fails(
        format!("{header}A-1,Ann\nA-2,\"Ben\nA-3,Carl\n"),
        options(),
        "the file ends within the quoted cell that begins on line 3",
    );
    for cell in ["\"Ann \"A\" B\"", "\"Ann\" \"Ben\"", "\"Ann\"x"] {
        fails(format!("{header}A-1,{cell}\n"), options(), "line 2 has a text after the last quote of a cell");
    }
    reads(format!("{header}\"A-1\" ,Ann\n"), options(), &ONE);
    reads(format!("{header}A-1,Ann \"A\" B\n"), options(), &["2 client_affiliate_id=A-1 affiliate_name=Ann \"A\" B"]);
}

#[test]
fn quoted_cells_have_any_length() {
    let notes = "x\n".repeat(900);
    let text = format!("client_affiliate_id,affiliate_name,notes\nA-1,Ann,\"{notes}B-1,Evil\"\nA-2,Ben,\n");
    let expected = format!("2 client_affiliate_id=A-1 affiliate_name=Ann notes={notes}B-1,Evil");
    reads(text, options(), &[&expected, "903 client_affiliate_id=A-2 affiliate_name=Ben"]);
    let long = "x\n".repeat(40_000);
    reads(
        format!("client_affiliate_id,affiliate_name,notes\nA-1,Ann,\"{long}\"\n"),
        options(),
        &["2 ! notes notes: The notes field must not be greater than 2048 characters."],
    );
}

#[test]
fn headings_have_many_spellings() {
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
            "# ignored, because the service assigns them: id, client_id",
            "2 client_affiliate_id=A-1 affiliate_name=Ann country=DE status=active",
        ],
    );
}

#[test]
fn wrong_headings_are_errors_of_the_file() {
    for (header, expected) in [
        (
            "client_affiliate_id,affiliate_name,city,City",
            "the columns 3 (\"city\") and 4 (\"City\") are the same field, city: remove one",
        ),
        (
            "client_affiliate_id,affiliate_name,distributor_name",
            "the columns 2 (\"affiliate_name\") and 3 (\"distributor_name\") are the same field, affiliate_name: map \"distributor_name\"",
        ),
        ("client_affiliate_id,affiliate_name,shoe size", "the column \"shoe size\" is not a field"),
        ("A-1,Ann", "no cell of the first row is a field name: A-1, Ann"),
        ("affiliate_name,city", "no column is the field client_affiliate_id"),
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
        "does not have the column Remark;",
    );
    fails(text, columns(&[("Nr.", "number")]), "cannot be the field number");
    fails(text, columns(&[("Nr.", "id")]), "cannot be the field id");
    fails(text, columns(&[("Nr.", "city"), ("Nr.", "zip")]), "mapped twice");
    let all = [("Nr.", "client_affiliate_id"), ("Partner", "affiliate_name"), ("Remarks", ""), ("Town", "city")];
    fails(text, columns(&all), "does not have the column Town");
}

#[test]
fn titles_are_ignored_and_totals_refused() {
    let text = "Affiliates of May 2026\n\nclient_affiliate_id,affiliate_name,city\nA-1,Ann,Ulm\nTotal:,1,\n";
    reads(
        text,
        options(),
        &[
            "# ignored, because they are above the headings: rows 1 to 1",
            "4 client_affiliate_id=A-1 affiliate_name=Ann city=Ulm",
            "5 !  : The row seems to have totals",
        ],
    );
    // Identifiers have their number beside the word.
    for id in ["SUM100", "TOTAL-7", "Total7"] {
        reads(
            format!("client_affiliate_id,affiliate_name,zip\n{id},7-11,123\n"),
            options(),
            &[&format!("2 client_affiliate_id={id} affiliate_name=7-11 zip=123")],
        );
    }
    // A row that others follow is a record.
    reads(
        "client_affiliate_id,affiliate_name\nTotal,1\nTotal,Total Ltd\n",
        options(),
        &["2 client_affiliate_id=Total affiliate_name=1", "3 client_affiliate_id=Total affiliate_name=Total Ltd"],
    );
}

#[test]
fn joined_tables_with_other_headings_are_refused() {
    for second in [
        "affiliate_name,client_affiliate_id\nBen,A-2\n",
        "Your affiliate ID,Name,City\nA-2,Ben,\n",
        "client_affiliate_id,affiliate_name\nA-2,Ben\n",
    ] {
        let text = format!("client_affiliate_id,affiliate_name,city\nA-1,Ann,Ulm\n{second}");
        fails(text, options(), "row 3 has other headings than row 1");
    }
}

#[test]
fn quotes_after_invisible_characters_are_refused() {
    for before in [" ", "\u{a0}", "\u{200b} "] {
        let text = format!("client_affiliate_id,affiliate_name\nA-1,{before}\"Ann\nA-2,Ben\"\n");
        fails(text, options(), "line 2 has a space or an invisible character before the first quote");
    }
    reads(
        "client_affiliate_id,affiliate_name\nA-1,5\" Ann\n",
        options(),
        &["2 client_affiliate_id=A-1 affiliate_name=5\" Ann"],
    );
}

#[test]
fn joined_files_have_their_headings_once() {
    let file = "\u{feff}client_affiliate_id,affiliate_name\r\nA-1,Ann\r\n";
    let second = "\u{feff}\"client_affiliate_id\",\"affiliate_name\"\r\n\"A-2\",Ben\r\n";
    let lines =
        ["# ignored, because it repeats the headings: row 3", ONE[0], "4 client_affiliate_id=A-2 affiliate_name=Ben"];
    reads(format!("{file}{second}"), options(), &lines);
    reads(format!("{file}{}", second.replace('"', "")), options(), &lines);
    // A mark before a record, quoted or not.
    reads(
        format!("{file}\u{feff}\"A-2\",Ben\r\n"),
        options(),
        &[ONE[0], "3 client_affiliate_id=A-2 affiliate_name=Ben"],
    );
    reads(format!("{file}\u{feff}A-2,Ben\r\n"), options(), &[ONE[0], "3 client_affiliate_id=A-2 affiliate_name=Ben"]);
}

#[test]
fn invisible_characters_around_values_are_removed() {
    for space in ["\u{200b}", "\u{202a}", "\u{feff}", "\u{a0}", " ", "\u{200e}", "\u{3000}", "\u{ad}"] {
        let text = format!(
            "{space}client_affiliate_id,{space}affiliate_name{space},country\n{space}A-1{space},Ann{space},{space}us\u{202c}\n"
        );
        reads(text, options(), &["2 client_affiliate_id=A-1 affiliate_name=Ann country=us"]);
    }
}

#[test]
fn whole_exports_are_read_exactly() {
    let names = AffiliateInput::names();
    let cells = names.iter().map(|name| match *name {
        "client_affiliate_id" => " A-1 ",
        "affiliate_name" => "Ann\u{a0}",
        "notes" => "  #N/A",
        "city" => "4.9E+11",
        "phone_one" => "'+49 30 1",
        "state" => "\u{fffd}",
        _ => "",
    });
    let text = format!("{}\n{}\n", names.join(","), cells.collect::<Vec<_>>().join(","));
    reads(
        text.as_str(),
        options(),
        &[
            "2 client_affiliate_id= A-1  affiliate_name=Ann\u{a0} phone_one=+49 30 1 notes=  #N/A city=4.9E+11 state=\u{fffd}",
        ],
    );
    let unescaped = Options { escape: Escape::None, ..options() };
    reads(
        "client_affiliate_id,affiliate_name,phone_one\nA-1,Ann,'+49\n",
        unescaped,
        &["2 client_affiliate_id=A-1 affiliate_name=Ann phone_one='+49"],
    );
    reads(
        "client_affiliate_id,affiliate_name,notes\nA-1,Ann,'t Hooft\n",
        options(),
        &["2 client_affiliate_id=A-1 affiliate_name=Ann notes='t Hooft"],
    );
}

#[test]
fn empty_cells_clear_fields_or_are_absent() {
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
            "3 !  : The row has 2 columns, and the row of headings has 4; is a separator or a quote missing?",
        ],
    );
}

/// A line break without quotes divides a row, and neither part clears fields or becomes a record.
#[test]
fn rows_divided_by_line_breaks_are_rejected() {
    let clears = || Options { empty: Empty::Clears, required: &["client_affiliate_id"], ..options() };
    let header = "client_affiliate_id,affiliate_name,notes,city,zip";
    let refused =
        |line: u64, width: u64| format!("{line} !  : The row has {width} columns, and the row of headings has 5");
    let text = format!("{header}\nA-1,Ann,one\ntwo,Ulm,8000\nA-2,Ben,,,\n");
    let (first, second) = (refused(2, 3), refused(3, 3));
    reads(text.as_str(), options(), &[&first, &second, "4 client_affiliate_id=A-2 affiliate_name=Ben"]);
    let cleared = "4 client_affiliate_id=A-2 affiliate_name=Ben notes=- city=- zip=-";
    reads(text, clears(), &[&first, &second, cleared]);
    let text = format!("{header}\nA-1,Ann,one\ntwo\nthree,Ulm,8000\n");
    reads(text, options(), &[&refused(2, 3), &refused(3, 1), &refused(4, 3)]);
    // Excel leaves out empty cells at the end of several rows.
    let text = format!("{header}\nA-1,Ann,,Ulm\nA-2,Ben,,Bern\n");
    let lines = [
        "2 client_affiliate_id=A-1 affiliate_name=Ann city=Ulm",
        "3 client_affiliate_id=A-2 affiliate_name=Ben city=Bern",
    ];
    reads(text.as_str(), options(), &lines);
    reads(text, clears(), &[&refused(2, 4), &refused(3, 4)]);
}

#[test]
fn records_above_the_headings_are_refused() {
    for above in ["A-0,Zoe,,", "A-0,Zoe,Ulm,1", "x,y,z", "Exported,2026-05-01"] {
        let text = format!("Partners\n{above}\nclient_affiliate_id,affiliate_name,city\nA-1,Ann,\n");
        let error = fails(text, options(), "row 2 is above the headings in row 3, and can be a record");
        assert_eq!(error.option(), Some("columns"));
    }
    fails(
        "https://a.example/\nclient_affiliate_id\nA-1\n",
        Options { required: &["client_affiliate_id"], ..options() },
        "row 1",
    );
    // A title, and the day of the export.
    let note = "# ignored, because they are above the headings: rows 1 to 2";
    let text = "Partners\nExported:,2026-05-01\nclient_affiliate_id,affiliate_name,city\nA-1,Ann,\n";
    reads(text, options(), &[note, "4 client_affiliate_id=A-1 affiliate_name=Ann"]);
    // A title that is a heading.
    let required = || Options { required: &["client_affiliate_id"], ..options() };
    let text = "Client affiliate ID\n\nclient_affiliate_id,affiliate_name\nA-1,Ann\n";
    let note = "# ignored, because they are above the headings: rows 1 to 1";
    reads(text, required(), &[note, "4 client_affiliate_id=A-1 affiliate_name=Ann"]);
}

#[test]
fn separators_are_those_of_the_headings() {
    for title in ["Affiliates, June, all", "Affiliates", "A|B|C|D"] {
        for separator in [";", "\t"] {
            let text = format!("{title}\nclient_affiliate_id,affiliate_name\nA-1,Ann\n")
                .replace("d,a", &format!("d{separator}a"))
                .replace("1,", &format!("1{separator}"));
            let note = "# ignored, because they are above the headings: rows 1 to 1";
            reads(text, options(), &[note, "3 client_affiliate_id=A-1 affiliate_name=Ann"]);
        }
    }
}

#[test]
fn wrong_encodings_are_refused() {
    let text = "client_affiliate_id,affiliate_name\nA-1,J\u{fc}rgen\n";
    for name in ["windows-1252", "macintosh", "iso-8859-1", "latin1"] {
        let named = Options { encoding: Some(name.parse().unwrap()), ..options() };
        assert_eq!(fails(text, named.clone(), "the bytes are UTF-8").option(), Some("encoding"));
        reads("client_affiliate_id,affiliate_name\nA-1,Ann\n", named, &ONE);
    }
    for (unit, mark) in [
        (u32::to_le_bytes as fn(u32) -> [u8; 4], "\u{feff}"),
        (u32::to_be_bytes, "\u{feff}"),
        (u32::to_le_bytes, ""),
        (u32::to_be_bytes, ""),
    ] {
        let bytes: Vec<u8> = format!("{mark}{text}").chars().flat_map(|next| unit(next.into())).collect();
        fails(bytes, options(), "the file is text in UTF-32");
    }
    assert!("cp850".parse::<Encoding>().is_err() && "us-ascii".parse() == Ok(Encoding::Utf8));
    fails("client_affiliate_id\0,affiliate_name\nA-1,Ann\n", options(), "line 1 has a NUL character");
    fails("client_affiliate_id,affiliate_name\nA-1,Ann\nA-2,\0\n", options(), "line 3 has a NUL character");
}

#[test]
fn options_without_effect_are_refused() {
    let text = "client_affiliate_id,affiliate_name\nA-1,Ann\n";
    let error =
        fails(text, Options { sheet: Some("May".to_owned()), ..options() }, "the option sheet has no effect on CSV");
    assert_eq!(error.option(), Some("sheet"));
}

/// Identifiers that look equal are equal.
#[test]
fn identifiers_have_one_form() {
    let invisible = ('\u{200b}'..='\u{200f}').chain('\u{202a}'..='\u{202e}').chain('\u{2060}'..='\u{206f}');
    let invisible = invisible.chain("\u{ad}\u{61c}\u{180e}\u{feff}\u{fe0f}\u{3164}".chars());
    for space in invisible {
        let text =
            format!("client_{space}affiliate_id,affiliate_name,sponsor_id\n{space}A{space}-1{space},Ann,B{space}1\n");
        reads(text, options(), &["2 client_affiliate_id=A-1 affiliate_name=Ann sponsor_id=B1"]);
    }
    let text = "client_affiliate_id,affiliate_name\nA\u{308}\u{a0}1,Ann O\u{308}\n";
    reads(text, options(), &["2 client_affiliate_id=\u{c4} 1 affiliate_name=Ann \u{d6}"]);
    // Text keeps what joins its characters.
    let text = "client_affiliate_id,affiliate_name\nA-1,\u{646}\u{200c}\u{645} \u{2764}\u{fe0f}\n";
    reads(text, options(), &["2 client_affiliate_id=A-1 affiliate_name=\u{646}\u{200c}\u{645} \u{2764}\u{fe0f}"]);
    let columns =
        vec![("E\u{301}tat".to_owned(), "state".to_owned()), ("#".to_owned(), "client_affiliate_id".to_owned())];
    let text = "#,affiliate_name,\u{c9}tat\nA-1,Ann,x\n,affiliate_name,\u{c9}tat\n";
    fails(text, Options { columns, ..options() }, "row 3 has other headings than row 1");
}

#[test]
fn numbers_that_lost_digits_are_rejected() {
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
fn errors_of_formulas_are_rejected() {
    for error in ["#N/A", "#REF!", " #DIV/0! ", "#SPILL!"] {
        reads(
            format!("Your affiliate ID,Name,City\nA-1,Ann,{error}\n"),
            options(),
            &["2 ! City city: The cell has the error"],
        );
    }
}

#[test]
fn countries_have_names_and_codes() {
    for (text, code) in [("Germany", "DE"), ("276", "DE"), ("U.K.", "GB"), ("Côte d’Ivoire", "CI"), ("us", "us")] {
        reads(
            format!("client_affiliate_id,affiliate_name,Country\nA-1,Ann,{text}\n"),
            options(),
            &[&format!("{} country={code}", ONE[0])],
        );
    }
    reads(
        "client_affiliate_id,affiliate_name,Country\nA-1,Ann,Atlantis\n",
        options(),
        &["2 ! Country country: The country field"],
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
fn dates_have_many_forms() {
    let may = ["2026-05-01", "2026-05-25"];
    for written in [
        ["2026-05-01", "2026-05-25"],
        ["2026-05-01 00:00:00", "2026-05-25T00:00:00.000Z"],
        ["2026-05-01 00:00:00+02:00", "2026-05-25T00:00:00-0700"],
        ["2026/5/1", "2026/05/25"],
        ["1/5/2026", "25/5/2026"],
        ["5/1/2026", "5/25/2026"],
        ["5/1/2026 12:00:00 AM", "5/25/2026 0:00"],
        ["1.5.2026", "25.05.2026"],
        ["1-5-2026", "25-05-2026"],
    ] {
        reads_days(&written, options(), &may);
    }
    reads_days(&["5/5/2026", "12/12/2026"], options(), &["2026-05-05", "2026-12-12"]);
    reads_days(
        &["05/01/26", "2026-05-01 14:30:00"],
        options(),
        &["!The year of 05/01/26 has two digits", "!The start date"],
    );
    reads_days(&["2026-02-30", "31/31/2026"], options(), &["!The start date", "!The start date"]);
}

#[test]
fn ambiguous_dates_are_rejected_without_an_order() {
    let ambiguous = ["2026-05-01", "1/5/2026", "02/03/2026"];
    let error = fails(days(&ambiguous), options(), "1/5/2026 on line 3 can be two dates");
    assert_eq!(error.option(), Some("dates"));
    reads_days(&ambiguous, dates(Order::Dmy), &["2026-05-01", "2026-05-01", "2026-03-02"]);
    reads_days(&ambiguous, dates(Order::Mdy), &["2026-05-01", "2026-01-05", "2026-02-03"]);
    let other = "!1/5/2026 is not a date with the year first";
    reads_days(&ambiguous[..2], dates(Order::Ymd), &["2026-05-01", other]);
    reads_days(&["05/26/2026"], dates(Order::Dmy), &["!05/26/2026 is not a date with the day first"]);
    fails(
        days(&["1/5/2026", "25/5/2026", "5/26/2026"]),
        options(),
        "25/5/2026 on line 3 has the day first, and 5/26/2026 on line 4 the month",
    );
}
