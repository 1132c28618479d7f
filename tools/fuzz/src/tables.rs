//! Reads affiliate files: CSV, workbooks, and workbook sheets.

use std::{
    io::{Cursor, Write as _},
    ops::ControlFlow,
};

use compliance_api::{
    csv_cell::cell,
    record::Record as _,
    rules,
    v1::{AffiliateInput, CreateAffiliateRequest},
};
use spreadsheets::{AffiliateRow, Empty, Options, Table};
use zip::{ZipWriter, write::SimpleFileOptions};

/// A workbook's parts, except its sheet.
const PARTS: [(&str, &str); 4] = [
    (
        "_rels/.rels",
        r#"<Relationships><Relationship Id="1" Type="/officeDocument" Target="xl/workbook.xml"/></Relationships>"#,
    ),
    ("xl/workbook.xml", r#"<workbook><sheets><sheet name="S" r:id="1"/></sheets></workbook>"#),
    (
        "xl/_rels/workbook.xml.rels",
        r#"<Relationships><Relationship Id="1" Type="/worksheet" Target="sheet.xml"/><Relationship Id="2" Type="/styles" Target="styles.xml"/><Relationship Id="3" Type="/sharedStrings" Target="sheet.xml"/></Relationships>"#,
    ),
    (
        "xl/styles.xml",
        r#"<styleSheet><numFmts><numFmt numFmtId="200" formatCode="00000"/></numFmts><cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="200"/></cellXfs></styleSheet>"#,
    ),
];

/// Returns the valid affiliates in a file, or `None` if the file is unreadable.
fn read(bytes: Vec<u8>) -> Option<Vec<AffiliateInput>> {
    let options = Options { empty: Empty::Absent, required: AffiliateRow::REQUIRED, ..Options::default() };
    let mut table = Table::<AffiliateRow>::open(Cursor::new(bytes), options).ok()?;
    let (expected, mut rows, mut affiliates) = (table.row_count(), 0, Vec::new());
    let read = table.read(|row| {
        rows += 1;
        affiliates.extend(row.record.ok().map(|row| row.input));
        ControlFlow::Continue(())
    });
    read.ok()?;
    assert_eq!(rows, expected);
    for affiliate in &affiliates {
        let violations = rules::check(&CreateAffiliateRequest { affiliate: Some(affiliate.clone()) });
        assert!(violations.is_empty(), "{affiliate:?}");
    }
    Some(affiliates)
}

/// Reads CSV. Every valid row obeys the service's rules, and survives a round trip.
pub fn csv(data: &[u8]) {
    let Some(affiliates) = read(data.to_vec()) else { return };
    let names = AffiliateInput::names();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&names).unwrap();
    for affiliate in &affiliates {
        for name in &names {
            let text = AffiliateInput::field(name).unwrap().written(affiliate).unwrap_or_default();
            writer.write_field(cell(&text).as_bytes()).unwrap();
        }
        writer.write_record(None::<&[u8]>).unwrap();
    }
    let written = writer.into_inner().unwrap();
    assert_eq!(read(written).expect("a written file is unreadable"), affiliates);
}

/// Reads a workbook, or a sheet without its archive. Every valid row obeys the service's rules.
pub fn xlsx(data: &[u8]) {
    if data.starts_with(b"PK") {
        read(data.to_vec());
        return;
    }
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, part) in PARTS.iter().map(|(name, part)| (*name, part.as_bytes())).chain([("xl/sheet.xml", data)]) {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(part).unwrap();
    }
    read(archive.finish().unwrap().into_inner());
}
