//! Opens Excel workbooks and chooses the sheet to read.

use std::{collections::HashMap, ops::ControlFlow};

use quick_xml::events::BytesStart;

use crate::{
    book::Book,
    dates::Epoch,
    error::{FileError, damaged},
    options::Options,
    sheet::{Merges, Sheet},
    source::{Each, Input},
    xml::{Node, Parts, attribute, flag},
};

/// Part that contains the whole workbook's relationships.
const PACKAGE: &str = "_rels/.rels";
/// Maximum number of relationships per part, and of sheets.
const MOST_RELATIONS: usize = 10_000;

/// A workbook and its chosen sheet.
pub(crate) struct Workbook {
    parts: Parts,
    path: String,
    pub(crate) book: Book,
    pub(crate) merges: Merges,
    pub(crate) hidden_rows: u64,
    /// Name of the chosen sheet, and names of the others.
    pub(crate) sheet: String,
    pub(crate) others: Vec<String>,
    unpacked: u64,
}

impl Workbook {
    pub(crate) fn open(source: Input, options: &Options) -> Result<Self, FileError> {
        let mut parts = Parts::open(source, options.limits.unpacked_bytes)?;
        let main = relations(&mut parts, PACKAGE)?.into_values().find(|relation| relation.kind == "officeDocument");
        let main = main
            .map(|relation| relation.target)
            .filter(|target| parts.has(target) && !target.ends_with("workbook.bin"));
        let main = main.filter(|_| !parts.has("word/document.xml") && !parts.has("ppt/presentation.xml"));
        let Some(main) = main else { return Err(FileError::Kind(kind(&parts))) };
        let (folder, name) = main.rsplit_once('/').unwrap_or(("", &main));
        let relations = relations(&mut parts, &format!("{folder}/_rels/{name}.rels"))?;
        let target = |kind: &str| relations.values().find(|it| it.kind == kind).map(|it| it.target.clone());
        let (mut book, mut sheets) = (Book::default(), Vec::new());
        parts.read(&main, &mut |node| {
            if let Node::Start(name, element) = node {
                match name {
                    "workbookPr" if flag(element, "date1904") => book.epoch = Epoch::Of1904,
                    "calcPr" => book.is_uncomputed = flag(element, "fullCalcOnLoad"),
                    "sheet" if sheets.len() < MOST_RELATIONS => sheets.extend(sheet(element, &relations)),
                    _ => {}
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let others = |name: &str| -> Vec<String> {
            let others = sheets.iter().filter(|sheet| sheet.name != name);
            others
                .map(|sheet| if sheet.is_visible { sheet.name.clone() } else { format!("{} (hidden)", sheet.name) })
                .collect()
        };
        let chosen = match &options.sheet {
            None => sheets.iter().find(|sheet| sheet.is_visible),
            Some(name) => sheets.iter().find(|sheet| sheet.name == *name),
        };
        let Some(chosen) = chosen else {
            return Err(FileError::Sheet(match &options.sheet {
                None => "the workbook contains no visible sheet".to_owned(),
                Some(name) => {
                    format!("the workbook contains no sheet {name:?}; its sheets are: {}", others("").join(", "))
                }
            }));
        };
        let (path, sheet, others) = (chosen.path.clone(), chosen.name.clone(), others(&chosen.name));
        if let Some(target) = target("sharedStrings") {
            book.texts.read(&mut parts, &target)?;
        }
        if let Some(target) = target("styles") {
            book.read_styles(&mut parts, &target)?;
        }
        let unpacked = parts.unpacked();
        Ok(Self { parts, path, book, merges: Merges::default(), hidden_rows: 0, sheet, others, unpacked })
    }

    /// Passes each row with cells to `each`. The first read finds merged cells, which come after the rows in the file.
    pub(crate) fn rows(&mut self, each: Each<'_>) -> Result<(), FileError> {
        self.parts.restart(self.unpacked);
        self.merges.restart();
        let mut sheet = Sheet::new(&self.book, self.parts.limit());
        let mut each = each;
        if !self.parts.read(&self.path, &mut |node| sheet.read(node, &mut each))? {
            return Err(damaged(format_args!("the part {} is missing", self.path)));
        }
        if let Some((merges, hidden_rows)) = sheet.finish() {
            (self.merges, self.hidden_rows) = (merges, hidden_rows);
        }
        Ok(())
    }
}

/// Returns the kind of a ZIP archive that is not a workbook.
fn kind(parts: &Parts) -> &'static str {
    let kinds = [
        ("xl/workbook.bin", "a binary workbook (.xlsb)"),
        ("content.xml", "an OpenDocument file (such as .ods)"),
        ("word/document.xml", "a Word document"),
        ("ppt/presentation.xml", "a presentation"),
        ("Index/Document.iwa", "a Numbers document"),
    ];
    kinds.into_iter().find(|(part, _)| parts.has(part)).map_or("a ZIP archive", |(_, kind)| kind)
}

/// A part's relationship to another part.
struct Relation {
    /// Last word of the type. Strict and transitional workbooks use different types that end in the same word.
    kind: String,
    target: String,
}

/// Returns a part's relationships, by ID.
fn relations(parts: &mut Parts, path: &str) -> Result<HashMap<String, Relation>, FileError> {
    let folder = path.split_once("_rels/").map_or("", |(folder, _)| folder);
    let mut relations = HashMap::new();
    parts.read(path, &mut |node| {
        if let Node::Start("Relationship", element) = node
            && let (Some(id), Some(kind), Some(target)) =
                (attribute(element, "Id"), attribute(element, "Type"), attribute(element, "Target"))
        {
            let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
            let target = match target.strip_prefix('/') {
                Some(absolute) => absolute.to_owned(),
                None => format!("{folder}{}", target.trim_start_matches("./")),
            };
            relations.insert(id, Relation { kind, target });
        }
        if relations.len() > MOST_RELATIONS {
            return Err(damaged(format_args!("the part {path} contains more than {MOST_RELATIONS} relationships")));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(relations)
}

struct SheetPart {
    name: String,
    path: String,
    is_visible: bool,
}

/// Returns a sheet with cells. Charts use a different kind of sheet.
fn sheet(element: &BytesStart<'_>, relations: &HashMap<String, Relation>) -> Option<SheetPart> {
    let relation = relations.get(&attribute(element, "id")?).filter(|relation| relation.kind == "worksheet")?;
    let is_visible = attribute(element, "state").is_none_or(|state| state == "visible");
    Some(SheetPart { name: attribute(element, "name")?, path: relation.target.clone(), is_visible })
}
