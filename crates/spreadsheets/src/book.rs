//! Reads the shared strings and number formats that workbook cells refer to.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use crate::{
    dates::Epoch,
    error::{FileError, damaged},
    number_format::{NumberFormat, changes_texts},
    row::visible,
    xml::{Node, Parts, attribute},
};

/// Maximum length of a number format code, in bytes. Excel applies the same limit, in characters.
const LONGEST_CODE: usize = 1000;

/// Data that the cells of all sheets refer to.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) texts: Texts,
    /// Format of each cell style.
    styles: Vec<u32>,
    formats: HashMap<u32, NumberFormat>,
    /// Formats that change how text is displayed.
    of_texts: HashSet<u32>,
    pub(crate) epoch: Epoch,
    /// Whether the program that wrote the workbook left its formulas uncomputed.
    pub(crate) is_uncomputed: bool,
}

impl Book {
    /// Returns a cell style's format.
    pub(crate) fn format(&self, style: usize) -> Option<&NumberFormat> {
        self.formats.get(self.styles.get(style)?)
    }

    /// Returns whether a cell style changes how text is displayed.
    pub(crate) fn changes_texts(&self, style: usize) -> bool {
        self.styles.get(style).is_some_and(|format| self.of_texts.contains(format))
    }

    pub(crate) fn read_styles(&mut self, parts: &mut Parts, path: &str) -> Result<(), FileError> {
        let Self { styles, formats, of_texts, .. } = self;
        let (mut is_cell_style, mut is_format) = (false, false);
        parts.read(path, &mut |node| {
            match node {
                // Conditional formats use their own numbers.
                Node::Start("numFmts", _) => is_format = true,
                Node::End("numFmts") => is_format = false,
                Node::Start("numFmt", element) if is_format => {
                    let number = attribute(element, "numFmtId").and_then(|id| id.parse().ok());
                    let code = attribute(element, "formatCode").filter(|code| code.len() <= LONGEST_CODE);
                    if let (Some(number), Some(code)) = (number, code) {
                        formats.insert(number, NumberFormat::of(visible(&code)));
                        if changes_texts(&code) {
                            of_texts.insert(number);
                        }
                    }
                }
                Node::Start("cellXfs", _) => is_cell_style = true,
                Node::End("cellXfs") => is_cell_style = false,
                Node::Start("xf", element) if is_cell_style => {
                    styles.push(attribute(element, "numFmtId").and_then(|id| id.parse().ok()).unwrap_or(0));
                }
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for format in styles {
            formats.entry(*format).or_insert_with(|| NumberFormat::built_in(*format));
        }
        Ok(())
    }
}

/// A workbook's shared strings, concatenated.
#[derive(Default)]
pub(crate) struct Texts {
    text: String,
    /// End of each string.
    ends: Vec<u32>,
}

impl Texts {
    pub(crate) fn read(&mut self, parts: &mut Parts, path: &str) -> Result<(), FileError> {
        let (mut is_text, mut is_beside) = (false, false);
        parts.read(path, &mut |node| {
            match node {
                Node::Start("rPh" | "Fallback", _) => is_beside = true,
                Node::End("rPh" | "Fallback") => is_beside = false,
                Node::Start("t", _) => is_text = !is_beside,
                Node::End("t") => is_text = false,
                Node::Text(text) if is_text => self.text.push_str(text),
                Node::End("si") => self.ends.push(u32::try_from(self.text.len()).map_err(damaged)?),
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }

    pub(crate) fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(start..end)
    }
}
