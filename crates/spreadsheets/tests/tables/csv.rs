//! Tests CSV encodings, separators, quotes and lines.

use compliance_api::{csv_cell::Escape, record::Record as _, v1::AffiliateInput};
use spreadsheets::{Empty, Encoding, Options};

use crate::support::{ONE, fails, options, read, reads};

const TEXT: &str = "client_affiliate_id,affiliate_name,city\nA-1,Jürgen Groß,Köln\nA-2,\"Renée, Zoë\",Orléans\n";
const TWO: [&str; 2] = [
    "2 client_affiliate_id=A-1 affiliate_name=Jürgen Groß city=Köln",
    "3 client_affiliate_id=A-2 affiliate_name=Renée, Zoë city=Orléans",
];

fn with_semicolons() -> String {
    TEXT.replace("\"Renée, Zoë\"", "§").replace(',', ";").replace('§', "Renée, Zoë")
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

#[test]
fn supported_encodings_are_read() {
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
    // Mac Roman, with its line endings.
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
    for marked in [marked.clone().into_bytes(), utf16(&marked, u16::to_le_bytes)] {
        fails(marked, named(Encoding::Windows1252), ", not windows-1252: omit the encoding");
    }
    for (bytes, expected) in [
        (&b"id,name\n1,J\xfcrgen\n"[..], r#"line 2 contains "Jürgen" in Windows-1252, or "J¸rgen" in"#),
        (b"id;name\r1;A\r2;J\x9frgen", r#"line 3 contains "JŸrgen" in Windows-1252, or "Jürgen" in"#),
        (b"id;name\r\n1;A\r\n\xfc", r#"line 3 contains "ü" in"#),
        (b"name\ncut \xc3", r#"line 2 contains "cut Ã" in"#),
        (b"\xef\xbb\xbfname\n\xfc", r#"line 2 contains "ü" in"#),
    ] {
        assert_eq!(fails(bytes, options(), expected).option(), Some("encoding"));
    }
    // A character split across two pieces.
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
    fails(long, options(), "line 50003 contains \"ü\"");
}

#[test]
fn bytes_outside_encoding_are_rejected() {
    // MS-DOS encodes ü as 0x81, which Windows-1252 does not define.
    let dos = b"client_affiliate_id,affiliate_name\nA-1,Bar\nA-2,J\x81rgen\n";
    let named = |encoding| Options { encoding: Some(encoding), ..options() };
    fails(*dos, named(Encoding::Windows1252), "line 3 contains the byte 0x81, which Windows-1252 does not define");
    let lone = utf16("client_affiliate_id,affiliate_name\n", u16::to_le_bytes);
    fails([lone, vec![0, 0xd8, b'a', 0]].concat(), options(), "line 2 is not valid UTF-16LE");
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
fn mac_roman_rejects_letters_of_other_encodings() {
    let named = || Options { encoding: Some(Encoding::Macintosh), ..options() };
    let file = |name: &[u8]| [b"client_affiliate_id,affiliate_name\nA-1,", name, b"\n"].concat();
    for (name, sign) in [
        (&b"M\xfcller"[..], '¸'),
        (b"K\xf6hler", 'ˆ'),
        (b"Fran\xe7ois", 'Á'),
        (b"Jos\xe9", 'È'),
        (b"Wei\xdfer", 'ﬂ'),
        // MS-DOS.
        (b"M\x81ller", 'Å'),
    ] {
        fails(file(name), named(), &format!("with {sign} within a word: the file may come from MS-DOS or Windows"));
    }
    fails(file("Müller".as_bytes()), named(), "the file is UTF-8, not macintosh");
    fails(file(b"M\xc3\xbcller J\x9frg"), named(), "which looks like UTF-8");
    for (name, text) in [
        (&b"M\x9fller \x83mile"[..], "Müller Émile"),
        (b"\x81ke Andr\x8e", "Åke André"),
        (b"FRAN\x82OIS", "FRANÇOIS"),
        (b"\xee h\xeeg\x87in", "Ó hÓgáin"),
        (b"M\xbb\xe7ngeles", "MªÁngeles"),
    ] {
        reads(file(name), named(), &[&format!("2 client_affiliate_id=A-1 affiliate_name={text}")]);
    }
}

/// These bytes are letters in MS-DOS encodings, but symbols in Windows-1252.
#[test]
fn msdos_letters_decoded_as_windows_1252_are_rejected() {
    let named = || Options { encoding: Some(Encoding::Windows1252), ..options() };
    let file = |name: &[u8]| [b"client_affiliate_id,affiliate_name\nA-1,", name, b"\n"].concat();
    for (name, sign) in [
        (&b"Ren\x82 Roy"[..], '‚'),
        (b"Andr\x82", '‚'),
        (b"B\x84r", '„'),
        (b"G\x86rd", '†'),
        (b"Fran\x87ois", '‡'),
        (b"Beno\x88t", 'ˆ'),
        (b"No\x89l", '‰'),
        (b"Na\x8bma", '‹'),
        (b"C\x93te", '“'),
        (b"J\x94rg", '”'),
        (b"FRAN\x80OIS", '€'),
        (b"Lou\x98s", '˜'),
        (b"S\x9bren", '›'),
        (b"Zo\x89", '‰'),
        (b"M\x9aLLER", 'š'),
        (b"\x9aBEL", 'š'),
        (b"K\x99HLER", '™'),
        (b"\x99zil", '™'),
        // Mac Roman.
        (b"M\x9fller", 'Ÿ'),
        (b"J\x8ager", 'Š'),
        (b"S\xc6o", 'Æ'),
    ] {
        fails(file(name), named(), &format!("with {sign} within a word: the file may come from MS-DOS"));
    }
    for (name, text) in [
        (&b"D\x92Angelo\x85so"[..], "D’Angelo…so"),
        (b"M\xfcller\x96Sm\x97x", "Müller–Sm—x"),
        (b"\x84Ann\x93 \x82B\x91 \x93C\x94 \x8bD\x9b", "„Ann“ ‚B‘ “C” ‹D›"),
        (b"\x8aime\x9aek \x8e\x9e \x8c\x9c \x9f \x83", "Šimešek Žž Œœ Ÿ ƒ"),
        (b"Ann\x99 \x95 5\x80 5\x89 Bob\x86", "Ann™ • 5€ 5‰ Bob†"),
    ] {
        reads(file(name), named(), &[&format!("2 client_affiliate_id=A-1 affiliate_name={text}")]);
    }
    reads(file("Andr‚".as_bytes()), options(), &["2 client_affiliate_id=A-1 affiliate_name=Andr‚"]);
}

#[test]
fn separators_are_detected() {
    for separator in ["\t", "|", ";"] {
        reads(with_semicolons().replace(';', separator), options(), &TWO);
    }
    let lines = [
        "3 client_affiliate_id=A-1 affiliate_name=Jürgen Groß city=Köln",
        "4 client_affiliate_id=A-2 affiliate_name=Renée, Zoë city=Orléans",
    ];
    for (first, separator) in [("sep=;\r\n", ";"), ("\"sep=|\"\n", "|"), ("\u{feff}SEP=\t\r\n", "\t")] {
        let text = format!("{first}{}", with_semicolons().replace(';', separator));
        for text in [text.replace("\r\n", "\n").replace('\n', "\r"), text] {
            reads(text, options(), &lines);
        }
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
fn line_numbers_count_quoted_line_breaks() {
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

/// Mixed line endings in a file lose no rows.
#[test]
fn mixed_line_endings_are_accepted() {
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
            "3 !  : The row has 1 column, but the heading row has 2; is a separator or a quote missing?",
            "4 !  : The row has 3 columns, but the heading row has 2",
            "5 client_affiliate_id=A-4 affiliate_name=Carl",
        ],
    );
    let text = "client_affiliate_id,affiliate_name,city,notes\r\nA-1,Ann\r\nA-2,Ben";
    let lines = [ONE[0], "3 !  : The row has 2 columns, but the heading row has 4; is the file truncated?"];
    reads(text, options(), &lines);
    reads(utf16(text, u16::to_le_bytes), options(), &lines);
    reads(format!("{text},,"), options(), &[ONE[0], "3 client_affiliate_id=A-2 affiliate_name=Ben"]);
}

#[test]
fn files_with_misplaced_quotes_are_rejected() {
    let header = "client_affiliate_id,affiliate_name\n";
    fails(
        format!("{header}A-1,Ann\nA-2,\"Ben\nA-3,Carl\n"),
        options(),
        "the file ends within the quoted cell that begins on line 3",
    );
    for cell in ["\"Ann \"A\" B\"", "\"Ann\" \"Ben\"", "\"Ann\"x"] {
        fails(format!("{header}A-1,{cell}\n"), options(), "line 2 contains text after a cell's closing quote");
    }
    reads(format!("{header}\"A-1\" ,Ann\n"), options(), &ONE);
    reads(format!("{header}A-1,Ann \"A\" B\n"), options(), &["2 client_affiliate_id=A-1 affiliate_name=Ann \"A\" B"]);
}

#[test]
fn quoted_cells_can_span_many_lines() {
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
fn quotes_after_invisible_characters_are_rejected() {
    for before in [" ", "\u{a0}", "\u{200b} "] {
        let text = format!("client_affiliate_id,affiliate_name\nA-1,{before}\"Ann\nA-2,Ben\"\n");
        fails(text, options(), "line 2 contains a space or an invisible character before a cell's opening quote");
    }
    reads(
        "client_affiliate_id,affiliate_name\nA-1,5\" Ann\n",
        options(),
        &["2 client_affiliate_id=A-1 affiliate_name=5\" Ann"],
    );
}

#[test]
fn full_exports_are_read_exactly() {
    let names = AffiliateInput::names();
    let cells = names.iter().map(|name| match *name {
        "client_affiliate_id" => " A-1 ",
        "affiliate_name" => "Ann\u{a0}",
        "notes" => "  #1",
        "phone_one" => "'+49 30 1",
        _ => "",
    });
    let text = format!("{}\n{}\n", names.join(","), cells.collect::<Vec<_>>().join(","));
    reads(
        text.as_str(),
        options(),
        &["2 client_affiliate_id= A-1  affiliate_name=Ann\u{a0} phone_one=+49 30 1 notes=  #1"],
    );
    // Spreadsheet programs can damage exports like any other file.
    let damaged = text.replace("  #1", "#N/A").replace("'+49 30 1", "4.9E+11");
    reads(
        damaged,
        options(),
        &[
            "2 ! phone_one phone_one: The number 4.9E+11 has lost",
            "2 ! notes notes: The cell contains the formula error #N/A",
        ],
    );
    // Somebody can add a row to an export.
    for pasted in ["\u{200b}A-1", "A-1\u{a0}", "A\u{ad}-1", "\u{feff}A-1", "A-1\u{202c}", "A\u{3000}1"] {
        let refused = ["2 ! client_affiliate_id client_affiliate_id: The ID contains an invisible character"];
        reads(text.replace(" A-1 ", pasted), options(), &refused);
    }
    // If a value is missing, pandas saves a column of numbers as decimals.
    let resaved = text.replace("'+49 30 1", "4930.0").replace(" A-1 ", "1001.0");
    reads(
        resaved,
        options(),
        &[
            "2 ! client_affiliate_id client_affiliate_id: The number 1001.0 contains decimals",
            "2 ! phone_one phone_one: The number 4930.0 contains decimals",
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

/// An unquoted line break splits a row. Neither part clears fields or becomes a record.
#[test]
fn rows_split_by_line_breaks_are_rejected() {
    let clears = || Options { empty: Empty::Clears, required: &["client_affiliate_id"], ..options() };
    let header = "client_affiliate_id,affiliate_name,notes,city,zip";
    let refused = |line: u64, width: u64| {
        let columns = if width == 1 { "column" } else { "columns" };
        format!("{line} !  : The row has {width} {columns}, but the heading row has 5")
    };
    let text = format!("{header}\nA-1,Ann,one\ntwo,Ulm,8000\nA-2,Ben,,,\n");
    let (first, second) = (refused(2, 3), refused(3, 3));
    reads(text.as_str(), options(), &[&first, &second, "4 client_affiliate_id=A-2 affiliate_name=Ben"]);
    let cleared = "4 client_affiliate_id=A-2 affiliate_name=Ben notes=- city=- zip=-";
    reads(text, clears(), &[&first, &second, cleared]);
    let text = format!("{header}\nA-1,Ann,one\ntwo\nthree,Ulm,8000\n");
    reads(text, options(), &[&refused(2, 3), &refused(3, 1), &refused(4, 3)]);
    // Excel omits empty cells at the end of several rows.
    let text = format!("{header}\nA-1,Ann,,Ulm\nA-2,Ben,,Bern\n");
    let lines = [
        "2 client_affiliate_id=A-1 affiliate_name=Ann city=Ulm",
        "3 client_affiliate_id=A-2 affiliate_name=Ben city=Bern",
    ];
    reads(text.as_str(), options(), &lines);
    reads(text, clears(), &[&refused(2, 4), &refused(3, 4)]);
}

#[test]
fn wrong_encodings_are_rejected() {
    let text = "client_affiliate_id,affiliate_name\nA-1,J\u{fc}rgen\n";
    for name in ["windows-1252", "macintosh", "iso-8859-1", "latin1"] {
        let named = Options { encoding: Some(name.parse().unwrap()), ..options() };
        assert_eq!(fails(text, named.clone(), "the file is UTF-8, not ").option(), Some("encoding"));
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
    assert!("cp850".parse::<Encoding>().unwrap_err().contains("Save files in other encodings as CSV in UTF-8"));
    assert_eq!("us-ascii".parse(), Ok(Encoding::Utf8));
    fails(*b"\x01\x9f\x02,\x03", options(), "line 1 is not text");
    fails("client_affiliate_id\0,affiliate_name\nA-1,Ann\n", options(), "line 1 contains a NUL character");
    fails("client_affiliate_id,affiliate_name\nA-1,Ann\nA-2,\0\n", options(), "line 3 contains a NUL character");
}

#[test]
fn formula_errors_in_any_language_are_rejected() {
    for error in [
        "#NV",
        "#WERT!",
        "#BEZUG!",
        "#\u{a1}REF!",
        "#N/D",
        "#UNKNOWN!",
        "#BUSY!",
        "#DIV/0!",
        "#NAME?",
        "#N/B",
        "Fehler:502",
        "Err:502",
        "########",
    ] {
        let text = format!("client_affiliate_id,affiliate_name,notes\nA-1,Ann,{error}\n");
        reads(text, options(), &["2 ! notes notes: The cell contains the formula error"]);
    }
    for text in ["#1", "#A1", "#Wow!", "Err: 5", "##", "No. #!"] {
        let file = format!("client_affiliate_id,affiliate_name,notes\nA-1,Ann,{text}\n");
        let expected = format!(" affiliate_name=Ann notes={text}");
        assert!(read(file, options()).unwrap()[0].ends_with(&expected), "{text}");
    }
    // Some programs write this formula to preserve leading zeros.
    let text = "client_affiliate_id,affiliate_name,zip\n\"=\"\"00501\"\"\",Ann,\"=\"\"01\"\"\"\n";
    reads(text, options(), &["2 client_affiliate_id=00501 affiliate_name=Ann zip=01"]);
}

#[test]
fn ids_with_control_characters_are_rejected() {
    for id in ["A\u{7f}2", "A\u{1}1", "\"A\n3\""] {
        let text = format!("client_affiliate_id,affiliate_name\n{id},Ann\n");
        reads(text, options(), &["2 ! client_affiliate_id client_affiliate_id: The ID contains a control character"]);
    }
    for id in ["A-\u{e0041}1", "A-\u{2800}1"] {
        reads(format!("client_affiliate_id,affiliate_name\n{id},Ann\n"), options(), &ONE);
    }
}

#[test]
fn msdos_symbols_and_mixed_encodings_are_rejected() {
    let named = Options { encoding: Some(Encoding::Windows1252), ..options() };
    let file = |name: &str| {
        let name = encoding_rs::WINDOWS_1252.encode(name).0.into_owned();
        [b"client_affiliate_id,affiliate_name\nA-1,", &name[..], b"\nA-2,\xfc\n"].concat()
    };
    for name in [
        "L\u{a2}pez",
        "Mu\u{a4}oz",
        "Garc\u{a1}a",
        "Ra\u{a3}l",
        "Niccol\u{2022}",
        "Moli\u{160}re",
        "Jos\u{17d}",
        "M\u{c3}\u{bc}ller",
        "Stra\u{c3}\u{178}e",
        "Ra\u{c3}\u{ba}l",
        "O\u{e2}\u{20ac}\u{2122}Neill",
    ] {
        assert_eq!(fails(file(name), named.clone(), "line 2 contains ").option(), Some("encoding"), "{name}");
    }
    for name in [
        "50 \u{a3} Ltd",
        "Ann \u{2022} Ben",
        "S\u{c3}O",
        "\u{c2}ngela",
        "M\u{fc}ller\u{2013}Ott",
        "O\u{2019}Neill",
        "\u{201c}AMANH\u{c3}\u{201d}",
        "\u{160}kvorec",
    ] {
        let lines = [
            &*format!("2 client_affiliate_id=A-1 affiliate_name={name}"),
            "3 client_affiliate_id=A-2 affiliate_name=\u{fc}",
        ];
        reads(file(name), named.clone(), &lines);
    }
}

#[test]
fn placeholder_and_formula_ids_are_rejected() {
    for (id, reason) in [
        ("NaN", "The ID is NaN"),
        ("NULL", "The ID is NULL"),
        ("1001.0", "The number 1001.0 contains decimals"),
        ("=A1", "The ID is a formula"),
    ] {
        let text = format!("client_affiliate_id,affiliate_name\n{id},Ann\n");
        reads(text, options(), &[&format!("2 ! client_affiliate_id client_affiliate_id: {reason}")]);
    }
    let text = "client_affiliate_id,affiliate_name,phone_one,city\nA-1,Ann,4915.0,2.0\nA.0,Ben,,\n";
    let lines = ["2 ! phone_one phone_one: The number 4915.0 contains", "3 client_affiliate_id=A.0 affiliate_name=Ben"];
    reads(text, options(), &lines);
}

#[test]
fn codes_with_thousands_separators_are_rejected() {
    let read_as = |field: &str, code: &str| {
        let (id, last) = if field == "client_affiliate_id" { ("", "") } else { (";client_affiliate_id", ";A-1") };
        read(format!("affiliate_name{id};{field}\nAnn{last};{code}\n"), options()).unwrap().concat()
    };
    for (field, codes) in [
        (
            "client_affiliate_id",
            &[
                "1,001",
                "1,000",
                "1,234,567",
                "12,34,567",
                "1'001",
                "1\u{2019}001",
                "1 001",
                "1\u{a0}001",
                "1\u{202f}234\u{202f}567",
                "1.003",
                "1.234.567",
                "1,234.50",
                "1.234,00",
            ][..],
        ),
        ("zip", &["12,345", "12.345", "12'345"]),
        ("phone_one", &["491,512", "491'512"]),
    ] {
        for code in codes {
            let line = read_as(field, code);
            assert!(line.contains(&format!("{field}: The number {code} contains decimals or a separator")), "{line}");
        }
    }
    for (field, codes) in [
        (
            "client_affiliate_id",
            &["1001", "1001.5", "1.03", "1.2.003", "01.003", "A-1,001", "1,001-A", "12,3456", "1,2", "1001,002"][..],
        ),
        ("zip", &["110 001", "12345", "12.345-678"]),
        ("phone_one", &["912 345 678", "212.555.012"]),
    ] {
        for code in codes {
            let line = read_as(field, code);
            assert!(format!("{line} ").contains(&format!("{field}={code} ")), "{line}");
        }
    }
}

#[test]
fn date_order_is_inferred_per_separator() {
    let header = "client_affiliate_id,affiliate_name,start_date";
    let text = format!("{header}\nA-1,Ann,\"=\"\"1/5/2026\"\"\"\n");
    fails(text, options(), "1/5/2026 on line 2 is ambiguous");
    for dates in [["1.5.2026", "5/25/2026"], ["25/5/2026", "1-5-2026"]] {
        let text = format!("{header}\nA-1,Ann,{}\nA-2,Ben,{}\n", dates[0], dates[1]);
        assert_eq!(fails(text, options(), "uses a different separator").option(), Some("dates"));
    }
    let text = format!("{header}\nA-1,Ann,1.5.2026\nA-2,Ben,25.5.2026\nA-3,Cat,31/5/2026\n");
    assert_eq!(read(text, options()).unwrap().len(), 3);
}

#[test]
fn ineffective_options_are_rejected() {
    let text = "client_affiliate_id,affiliate_name\nA-1,Ann\n";
    let error =
        fails(text, Options { sheet: Some("May".to_owned()), ..options() }, "the option sheet has no effect on CSV");
    assert_eq!(error.option(), Some("sheet"));
}
