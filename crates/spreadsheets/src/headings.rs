//! Maps headings to fields.

use compliance_api::description::{Field, Message};

use crate::{
    error::FileError,
    record::{TableRecord, Target},
    row::{identity, visible},
};

/// Name that pandas gives a column without a heading.
const UNNAMED: &str = "unnamed";
/// Digits in headings, as spelled in field names.
const DIGITS: [(char, &str); 3] = [('1', "one"), ('2', "two"), ('3', "three")];
/// Maximum length of a heading, in characters. Comparisons ignore the rest.
const LONGEST_HEADING: usize = 200;

/// Returns the field that a heading names, in any case and with any separators.
pub fn field_of(message: &'static Message, heading: &str) -> Option<&'static Field> {
    let key = letters(heading);
    let number = DIGITS.iter().find_map(|(digit, word)| Some(format!("{}{word}", key.strip_suffix(*digit)?)));
    let names = |field: &Field, key: &str| {
        is_written_as(field.name, key) || field.headings.iter().any(|heading| is_written_as(heading, key))
    };
    let find = |key: &str| message.fields.iter().find(|field| !key.is_empty() && names(field, key));
    find(&key).or_else(|| find(&number?))
}

/// Returns whether a field's name or heading has these [`letters`]. Files can contain many headings, so this allocates nothing.
pub(crate) fn is_written_as(name: &str, key: &str) -> bool {
    name.chars().filter(|next| next.is_alphanumeric()).flat_map(char::to_lowercase).eq(key.chars())
}

/// Returns a heading's letters and digits, in lowercase.
pub(crate) fn letters(name: &str) -> String {
    identity(name).chars().filter(|next| next.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the start of a cell, which is enough to compare it with a heading.
pub(crate) fn start(text: &str) -> &str {
    text.char_indices().nth(LONGEST_HEADING).map_or(text, |(end, _)| &text[..end])
}

/// Returns a heading's comparison key: its letters and digits or, if there are none, its other characters.
pub(crate) fn key(name: &str) -> String {
    Some(letters(name)).filter(|letters| !letters.is_empty()).unwrap_or_else(|| identity(name))
}

/// Returns whether a column has no heading, such as an index column.
pub fn is_unnamed(name: &str) -> bool {
    let letters = letters(name);
    let number = letters.strip_prefix(UNNAMED).filter(|_| name.contains(':'));
    visible(name).is_empty() || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Maps headings to fields: explicitly by option, or by field name.
#[derive(Clone, Debug)]
pub struct Headings(Vec<(String, Target)>);

impl Headings {
    /// Reads the `columns` option.
    pub fn new<R: TableRecord>(columns: &[(String, String)]) -> Result<Self, FileError> {
        let mut given: Vec<(String, Target)> = Vec::new();
        for (heading, field) in columns {
            let target = match R::target(field) {
                _ if field.is_empty() => None,
                Some(Some(target)) => Some(target),
                _ => {
                    return Err(FileError::Columns(format!(
                        "the column {heading:?} cannot be mapped to the unknown field {field}; the fields are {}",
                        R::fields().join(", ")
                    )));
                }
            };
            if given.iter().any(|(other, _)| other == heading) {
                return Err(FileError::Columns(format!("the column {heading:?} is mapped twice")));
            }
            given.push((heading.clone(), target));
        }
        Ok(Self(given))
    }

    /// Returns a heading's field, or `None` if it is unknown.
    pub fn target<R: TableRecord>(&self, name: &str) -> Option<Target> {
        match self.given(name) {
            Some((_, target)) => Some(*target),
            None if is_unnamed(name) => Some(None),
            None => R::target(name),
        }
    }

    /// Returns whether the service itself assigns a heading's field.
    pub fn is_read_only<R: TableRecord>(&self, name: &str) -> bool {
        self.given(name).is_none() && !is_unnamed(name) && R::target(name) == Some(None)
    }

    fn given(&self, name: &str) -> Option<&(String, Target)> {
        let exact = self.0.iter().find(|(heading, _)| heading == visible(name));
        exact.or_else(|| self.0.iter().find(|(heading, _)| key(heading) == key(name)))
    }

    /// Returns how many columns of a row have a known heading, and whether all required fields are among them.
    pub(crate) fn known<R: TableRecord>(&self, header: &[String], required: &[&str]) -> (usize, bool) {
        let named = header.iter().filter(|name| !is_unnamed(name));
        let targets: Vec<Target> = named.filter_map(|name| self.target::<R>(name)).collect();
        let has = |name: &&str| targets.iter().flatten().any(|field| field.name == *name);
        (targets.len(), !targets.is_empty() && required.iter().all(has))
    }

    /// Returns the field of each column in a header row.
    pub(crate) fn columns<R: TableRecord>(
        &self,
        header: &[String],
        required: &[&str],
    ) -> Result<Vec<Target>, FileError> {
        let error = |text: String| Err(FileError::Columns(text));
        let fields = || R::fields().join(", ");
        if self.known::<R>(header, &[]).0 == 0 {
            return error(format!(
                "one of the first rows must name the columns, but no cell in the first row is a field name: {}; the fields are {}",
                header.join(", "),
                fields()
            ));
        }
        for (heading, _) in &self.0 {
            let is_named = |name: &&String| self.given(name).is_some_and(|(given, _)| given == heading);
            let mut found: Vec<&str> = header.iter().filter(is_named).map(|name| visible(name)).collect();
            found.dedup();
            match &found[..] {
                [] => {
                    return error(format!(
                        "the file does not contain the column {heading}; its columns are: {}",
                        header.join(", ")
                    ));
                }
                [_] => {}
                [one, other, ..] => {
                    return error(format!(
                        "the mapping of {heading:?} also matches another column: map {one:?} and {other:?} separately, or rename one of them"
                    ));
                }
            }
        }
        let unknown = header.iter().filter(|name| self.target::<R>(name).is_none());
        match &unknown.map(|name| format!("{name:?}")).collect::<Vec<_>>()[..] {
            [] => {}
            [one] => {
                let fields = fields();
                return error(format!(
                    "the column {one} is not a field: map it to a field or to nothing; the fields are {fields}"
                ));
            }
            many => {
                let (names, fields) = (many.join(", "), fields());
                return error(format!(
                    "the columns {names} are not fields: map each to a field or to nothing; the fields are {fields}"
                ));
            }
        }
        let mut columns = Vec::with_capacity(header.len());
        for (index, name) in header.iter().enumerate() {
            let target = self.target::<R>(name).flatten();
            if let (Some(field), Some(first)) = (target, columns.iter().position(|other| *other == target)) {
                let other = &header[first];
                // A mapping applies to all columns with the same heading.
                let advice = if letters(other) == letters(name) {
                    "remove one of them from the file".to_owned()
                } else {
                    format!("map {name:?} to nothing")
                };
                return error(format!(
                    "columns {} ({other:?}) and {} ({name:?}) both map to the field {}: {advice}",
                    first + 1,
                    index + 1,
                    field.name
                ));
            }
            columns.push(target);
        }
        for required in required {
            if !columns.iter().flatten().any(|field| field.name == *required) {
                return error(format!(
                    "no column contains the required field {required}; the columns are: {}",
                    header.join(", ")
                ));
            }
        }
        Ok(columns)
    }
}
