//! Reads workbook parts: XML in a ZIP archive, with one limit for all parts together.

use std::{
    collections::HashMap,
    io::{BufReader, Read, Seek as _, SeekFrom},
    ops::ControlFlow,
};

use quick_xml::{
    Reader, XmlVersion,
    escape::resolve_predefined_entity,
    events::{BytesStart, Event},
};
use zip::{ZipArchive, read::Config, result::ZipError};

use crate::{
    error::{FileError, damaged, limit_in},
    source::Input,
};

/// Maximum number of parts. Workbooks contain a few hundred at most.
const MOST_PARTS: u64 = 10_000;
/// Number of elements allowed in a part, beyond one per [`ELEMENT`] bytes. Sheets contain fewer.
const FREE_ELEMENTS: u64 = 1 << 16;
/// Size of an element in a dense part, in bytes. Every element takes time to read.
const ELEMENT: u64 = 8;
/// Maximum nesting depth of elements.
const DEEPEST: usize = 100;
/// Maximum distance of the archive's directory from the end of the file, in bytes.
const TAIL: u64 = (64 << 10) + 128;

/// A node of a part.
pub(crate) enum Node<'n> {
    Start(&'n str, &'n BytesStart<'n>),
    Text(&'n str),
    End(&'n str),
}

/// Receives a part's nodes, and can stop parsing.
pub(crate) type EachNode<'e> = &'e mut dyn FnMut(Node<'_>) -> Result<ControlFlow<()>, FileError>;

/// A workbook's parts.
pub(crate) struct Parts {
    archive: ZipArchive<Input>,
    /// Part positions, by lowercase name.
    positions: HashMap<String, usize>,
    limit: u64,
    /// Number of bytes that can still be unpacked.
    left: u64,
}

impl Parts {
    pub(crate) fn open(mut source: Input, limit: u64) -> Result<Self, FileError> {
        check_directory(&mut source)?;
        // Otherwise, the library would search for the offset.
        let config = Config { archive_offset: zip::read::ArchiveOffset::Known(0) };
        let archive = ZipArchive::with_config(config, source).map_err(|error| of_zip(&error))?;
        let names = archive.file_names().enumerate();
        let positions = names.filter_map(|(position, name)| Some((normalized(&name.ok()?), position))).collect();
        Ok(Self { archive, positions, limit, left: limit })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.positions.contains_key(&normalized(name))
    }

    /// Resets the number of unpacked bytes to `unpacked`, to read parts again.
    pub(crate) fn restart(&mut self, unpacked: u64) {
        self.left = self.limit.saturating_sub(unpacked);
    }

    /// Returns the maximum number of unpacked bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the number of unpacked bytes.
    pub(crate) fn unpacked(&self) -> u64 {
        self.limit - self.left
    }

    /// Passes a part's nodes to `each`. Returns whether the part exists.
    pub(crate) fn read(&mut self, name: &str, each: EachNode<'_>) -> Result<bool, FileError> {
        let Some(position) = self.positions.get(&normalized(name)) else { return Ok(false) };
        let file = self.archive.by_index(*position).map_err(|error| of_zip(&error))?;
        // One extra byte shows that a part exceeds the limit.
        let mut xml = Reader::from_reader(BufReader::new(file.take(self.left + 1)));
        xml.config_mut().expand_empty_elements = true;
        let (mut buffer, mut depth, mut elements) = (Vec::new(), 0, 0);
        let read = loop {
            buffer.clear();
            let event = xml.read_event_into(&mut buffer);
            let flow = match event {
                Err(error) => {
                    let limit = if let quick_xml::Error::Io(error) = &error { limit_in(error) } else { None };
                    break Err(limit.unwrap_or_else(|| damaged(format_args!("the part {name} is not XML ({error})"))));
                }
                Ok(Event::Eof) if depth > 0 => break Err(damaged(format_args!("the part {name} is truncated"))),
                Ok(Event::Eof) => break Ok(()),
                Ok(Event::Start(start)) => {
                    (depth, elements) = (depth + 1, elements + 1);
                    if elements > FREE_ELEMENTS + xml.buffer_position() / ELEMENT {
                        break Err(FileError::Limit(format!(
                            "the part {name} of the workbook contains too many empty elements: remove unused rows and cells"
                        )));
                    }
                    if depth > DEEPEST {
                        break Err(damaged(format_args!(
                            "the part {name} nests elements more than {DEEPEST} levels deep"
                        )));
                    }
                    each(Node::Start(start.local_name().as_ref(), &start))
                }
                Ok(Event::End(end)) => {
                    depth -= 1;
                    each(Node::End(end.local_name().as_ref()))
                }
                Ok(Event::Text(text)) => each(Node::Text(&text.xml10_content())),
                Ok(Event::CData(text)) => each(Node::Text(&text.xml10_content())),
                Ok(Event::GeneralRef(entity)) => match entity.resolve_char_ref() {
                    Ok(Some(character)) => each(Node::Text(character.encode_utf8(&mut [0; 4]))),
                    Ok(None) if resolve_predefined_entity(&entity).is_some() => {
                        each(Node::Text(resolve_predefined_entity(&entity).unwrap_or_default()))
                    }
                    _ => {
                        break Err(damaged(format_args!("the part {name} contains the unknown entity {:?}", &*entity)));
                    }
                },
                Ok(Event::Decl(declaration)) => match declaration.encoding() {
                    Some(Ok(encoding)) if !encoding.to_ascii_lowercase().starts_with("utf-") => {
                        break Err(damaged(format_args!("the part {name} is not UTF-8")));
                    }
                    _ => Ok(ControlFlow::Continue(())),
                },
                Ok(_) => Ok(ControlFlow::Continue(())),
            };
            match flow {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let left = xml.get_mut().get_mut().limit();
        if left == 0 {
            let limit = self.limit >> 20;
            return Err(FileError::Limit(format!("the workbook exceeds {limit} MiB when unpacked")));
        }
        self.left = left - 1;
        read.map(|()| true)
    }
}

/// Returns an element's attribute.
pub(crate) fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = element.attributes();
    let mut attributes = attributes.with_checks(false).map_while(Result::ok);
    let found = attributes.find(|attribute| attribute.key.local_name().as_ref() == name)?;
    found.normalized_value(XmlVersion::Implicit1_0).ok().map(std::borrow::Cow::into_owned)
}

/// Returns the value of a flag attribute.
pub(crate) fn flag(element: &BytesStart<'_>, name: &str) -> bool {
    attribute(element, name).is_some_and(|value| matches!(value.as_str(), "1" | "true"))
}

/// Normalizes a part name for comparison.
fn normalized(name: &str) -> String {
    name.trim_start_matches('/').replace('\\', "/").to_ascii_lowercase()
}

fn of_zip(error: &ZipError) -> FileError {
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => {
            FileError::Kind("a password-protected ZIP archive")
        }
        ZipError::InvalidArchive(_) => damaged("the archive is truncated or invalid"),
        ZipError::Io(cause) => limit_in(cause).unwrap_or_else(|| damaged(error)),
        error => damaged(error),
    }
}

/// Fails if the archive claims more parts than any workbook contains. Otherwise, the library would reserve memory for all of them.
fn check_directory(source: &mut Input) -> Result<(), FileError> {
    let length = source.seek(SeekFrom::End(0))?;
    let start = length.saturating_sub(TAIL);
    let mut tail = Vec::new();
    source.seek(SeekFrom::Start(start))?;
    source.by_ref().take(TAIL).read_to_end(&mut tail)?;
    let number = |bytes: &[u8], at: usize, size: usize| {
        let bytes = bytes.get(at..at + size)?;
        Some(bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)))
    };
    let mut most = 0;
    for record in tail.windows(4).enumerate().filter(|(_, bytes)| bytes.starts_with(b"PK")).map(|(at, _)| &tail[at..]) {
        let parts = match record {
            // The end of the directory. A number that does not fit is in the record that the locator points to.
            [_, _, 5, 6, ..] => number(record, 10, 2).filter(|parts| *parts != 0xffff),
            [_, _, 6, 7, ..] => {
                let at = number(record, 8, 8).filter(|at| *at < length).unwrap_or(0);
                source.seek(SeekFrom::Start(at))?;
                let mut end = Vec::new();
                source.by_ref().take(56).read_to_end(&mut end)?;
                number(&end, 32, 8)
            }
            _ => None,
        };
        most = most.max(parts.unwrap_or(0));
    }
    source.seek(SeekFrom::Start(0))?;
    if most > MOST_PARTS {
        return Err(FileError::Limit(format!("the archive contains more than {MOST_PARTS} parts")));
    }
    Ok(())
}
