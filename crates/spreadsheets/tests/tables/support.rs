//! Reads files into lines that tests can compare, and creates small workbooks.

use std::{
    io::{Cursor, Write as _},
    ops::ControlFlow,
};

use spreadsheets::{AffiliateRow, Empty, FileError, Options, Row, Table};
use zip::{ZipWriter, write::SimpleFileOptions};

/// Result for a file with one affiliate.
pub(crate) const ONE: [&str; 1] = ["2 client_affiliate_id=A-1 affiliate_name=Ann"];

/// Returns options for a file in which every row has an identifier and a name.
pub(crate) fn options() -> Options {
    Options { empty: Empty::Absent, required: AffiliateRow::REQUIRED, ..Options::default() }
}

/// Reads affiliates. A valid row becomes `LINE field=value …`, an error `LINE ! cell field: reason`, and a note `# note`.
pub(crate) fn read(bytes: impl Into<Vec<u8>>, options: Options) -> Result<Vec<String>, FileError> {
    let mut table = Table::<AffiliateRow>::open(Cursor::new(bytes.into()), options)?;
    let mut lines: Vec<String> = table.notes().iter().map(|note| format!("# {note}")).collect();
    table.read(|row: Row<AffiliateRow>| {
        match row.record {
            Ok(record) => {
                let values = record.given.iter().map(|field| {
                    let value = field.written(&record.input);
                    format!(" {}={}", field.name, value.as_deref().unwrap_or("-"))
                });
                lines.push(format!("{}{}", row.line, values.collect::<String>()));
            }
            Err(errors) => lines.extend(errors.iter().map(|error| {
                format!("{} ! {} {}: {} {}", row.line, error.cell, error.field, error.reason, error.value)
            })),
        }
        ControlFlow::Continue(())
    })?;
    Ok(lines)
}

/// Asserts that a file is read as these lines. Expected errors and notes are prefixes of lines.
#[track_caller]
pub(crate) fn reads(bytes: impl Into<Vec<u8>>, options: Options, expected: &[&str]) {
    let lines = read(bytes, options).unwrap();
    let is_equal = |line: &str, expected: &str| {
        if expected.contains(['!', '#']) { line.starts_with(expected) } else { line == expected }
    };
    let are_equal =
        lines.len() == expected.len() && lines.iter().zip(expected).all(|(line, expected)| is_equal(line, expected));
    assert!(are_equal, "{lines:#?}\n{expected:#?}");
}

/// Asserts that a whole file is rejected with this error.
#[track_caller]
pub(crate) fn fails(bytes: impl Into<Vec<u8>>, options: Options, expected: &str) -> FileError {
    let error = read(bytes, options).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
    error
}

const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const HEADINGS: [&str; 3] = ["client_affiliate_id", "affiliate_name", "zip"];

/// A workbook whose parts a test can choose.
pub(crate) struct Book {
    /// Sheets: name, state, and the XML of the rows and anything after them.
    pub(crate) sheets: Vec<(&'static str, &'static str, String)>,
    pub(crate) texts: String,
    /// Number format codes. The first code is style 1.
    pub(crate) formats: Vec<&'static str>,
    /// Conditional formats.
    pub(crate) dxfs: &'static str,
    /// Workbook elements besides the sheets.
    pub(crate) properties: &'static str,
    /// Namespaces of the workbook and its relationships.
    pub(crate) namespace: (&'static str, &'static str),
    pub(crate) main: &'static str,
}

impl Default for Book {
    fn default() -> Self {
        Self {
            sheets: Vec::new(),
            texts: String::new(),
            formats: Vec::new(),
            dxfs: "",
            properties: "",
            namespace: (MAIN, RELATIONS),
            main: "xl/workbook.xml",
        }
    }
}

/// Returns a row of inline strings.
pub(crate) fn texts(row: u64, texts: &[&str]) -> String {
    let cells = texts.iter().zip('A'..).map(|(text, column)| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        format!(r#"<c r="{column}{row}" t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>"#)
    });
    format!(r#"<row r="{row}">{}</row>"#, cells.collect::<String>())
}

/// Returns a row with three headings, and rows with the given XML cells.
pub(crate) fn rows(cells: &[&str]) -> String {
    let rows = cells.iter().zip(2..).map(|(cells, row)| format!(r#"<row r="{row}">{cells}</row>"#));
    format!("{}{}", texts(1, &HEADINGS), rows.collect::<String>())
}

impl Book {
    /// Creates a workbook with one sheet.
    pub(crate) fn of(rows: impl Into<String>) -> Self {
        Self {
            sheets: vec![("Sheet", "visible", format!("<sheetData>{}</sheetData>", rows.into()))],
            ..Self::default()
        }
    }

    /// Adds an element after the rows.
    pub(crate) fn with(mut self, element: &str) -> Self {
        self.sheets[0].2 += element;
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        zip(&self.parts())
    }

    pub(crate) fn parts(&self) -> Vec<(String, String)> {
        let (main, relations) = self.namespace;
        let sheets = (1..).zip(&self.sheets);
        let named = sheets.clone().map(|(number, (name, state, _))| {
            format!(r#"<sheet name="{name}" sheetId="{number}" state="{state}" r:id="rId{number}"/>"#)
        });
        let related = sheets.clone().map(|(number, _)| {
            format!(
                r#"<Relationship Id="rId{number}" Type="{relations}/worksheet" Target="worksheets/sheet{number}.xml"/>"#
            )
        });
        let codes = (200..).zip(&self.formats).map(|(number, code)| {
            format!(r#"<numFmt numFmtId="{number}" formatCode="{}"/>"#, code.replace('"', "&quot;"))
        });
        let styles = (200..).zip(&self.formats).map(|(number, _)| format!(r#"<xf numFmtId="{number}"/>"#));
        let (folder, name) = self.main.rsplit_once('/').unwrap();
        let mut parts = vec![
            (
                "_rels/.rels".to_owned(),
                format!(
                    r#"<Relationships><Relationship Id="rId1" Type="{relations}/officeDocument" Target="{}"/></Relationships>"#,
                    self.main
                ),
            ),
            (
                self.main.to_owned(),
                format!(
                    r#"<workbook xmlns="{main}" xmlns:r="{relations}">{}<sheets>{}</sheets></workbook>"#,
                    self.properties,
                    named.collect::<String>()
                ),
            ),
            (
                format!("{folder}/_rels/{name}.rels"),
                format!(
                    r#"<Relationships>{}<Relationship Id="s" Type="{relations}/styles" Target="/{folder}/styles.xml"/><Relationship Id="t" Type="{relations}/sharedStrings" Target="sharedStrings.xml"/></Relationships>"#,
                    related.collect::<String>()
                ),
            ),
            (
                format!("{folder}/styles.xml"),
                format!(
                    r#"<styleSheet xmlns="{main}"><numFmts>{}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>{}</cellXfs><dxfs>{}</dxfs></styleSheet>"#,
                    codes.collect::<String>(),
                    styles.collect::<String>(),
                    self.dxfs
                ),
            ),
            (format!("{folder}/sharedStrings.xml"), format!(r#"<sst xmlns="{main}">{}</sst>"#, self.texts)),
        ];
        parts.extend(sheets.map(|(number, (_, _, sheet))| {
            let path = format!("{folder}/worksheets/sheet{number}.xml");
            (path, format!(r#"<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="{main}">{sheet}</worksheet>"#))
        }));
        parts
    }
}

/// Returns an archive of parts.
pub(crate) fn zip(parts: &[(String, String)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, part) in parts {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(part.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}
