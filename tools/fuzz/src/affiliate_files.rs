//! Affiliate files, through the reader of `compliance import`.

#[path = "../../../cli/src/import/affiliate.rs"]
mod affiliate;
#[path = "../../../cli/src/import/csv_text.rs"]
mod csv_text;
#[path = "../../../cli/src/import/dates.rs"]
mod dates;
#[path = "../../../cli/src/import/encoding.rs"]
mod encoding;
#[path = "../../../cli/src/import/mapping.rs"]
mod mapping;
#[path = "../../../cli/src/import/row.rs"]
mod row;
#[path = "../../../cli/src/import/source.rs"]
mod source;
#[path = "../../../cli/src/import/table.rs"]
mod table;
#[path = "../../../cli/src/import/workbook.rs"]
mod workbook;

use std::path::PathBuf;

use compliance_api::{
    record::Record as _,
    rules,
    v1::{AffiliateInput, CreateAffiliateRequest},
};

use self::{mapping::Mapping, source::Source};
use compliance_api::csv_cell::{Escape, cell};

const OPTIONS: table::Options = table::Options { escape: Escape::Formulas, dates: None };

/// A temporary file of this process.
fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("compliance-fuzz-{}-{name}", std::process::id()))
}

/// The valid affiliates in a file. `None` if the file is unreadable.
fn read(name: &str, bytes: &[u8]) -> Option<Vec<AffiliateInput>> {
    let path = path(name);
    std::fs::write(&path, bytes).unwrap();
    let source = Source::open(&path, None);
    // The open file stays readable.
    std::fs::remove_file(&path).unwrap();
    let mut affiliates = Vec::new();
    for row in affiliate::rows(&source.ok()?, &Mapping::new(&[]).unwrap(), OPTIONS).ok()? {
        if let (_, Ok(affiliate)) = row.ok()? {
            affiliates.push(affiliate.input);
        }
    }
    Some(affiliates)
}

/// Every valid row obeys the rules of the service, and reads as it was written.
pub fn csv(data: &[u8]) {
    let Some(affiliates) = read("in.csv", data) else { return };
    let names = AffiliateInput::names();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&names).unwrap();
    for affiliate in &affiliates {
        let violations = rules::check(&CreateAffiliateRequest { affiliate: Some(affiliate.clone()) });
        assert!(violations.is_empty(), "{affiliate:?}");
        for name in &names {
            let text = AffiliateInput::field(name).unwrap().written(affiliate).unwrap_or_default();
            writer.write_field(cell(&text).as_bytes()).unwrap();
        }
        writer.write_record(None::<&[u8]>).unwrap();
    }
    let written = writer.into_inner().unwrap();
    assert_eq!(read("out.csv", &written).expect("a written file is read"), affiliates);
}
