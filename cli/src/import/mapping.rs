//! Maps columns of CSV and keys of NDJSON to fields.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::bail;
use compliance_api::{
    record::{Record as _, RecordField},
    v1::{Affiliate, AffiliateInput},
};

/// The field of a column or key; `None` if it is ignored.
pub(super) type Target = Option<&'static RecordField<AffiliateInput>>;

/// Other headings of fields, as letters and digits alone: headings of the console, and usual ones.
const ALIASES: [(&str, &str); 10] = [
    ("youraffiliateid", "client_affiliate_id"),
    ("name", "affiliate_name"),
    ("affiliatestatus", "status"),
    ("email", "email_one"),
    ("phone", "phone_one"),
    ("company", "company_name"),
    ("ziporpostalcode", "zip"),
    ("postalcode", "zip"),
    ("pinterest", "pintrest"),
    ("internationalaffiliate", "international_distributor"),
];
/// The fields of every new affiliate.
pub(super) const REQUIRED: &[&str] = &["client_affiliate_id", "affiliate_name"];
/// How pandas names a column without a heading.
const UNNAMED: &str = "unnamed";

/// Parses one `--map HEADER=field` into the header and the field.
pub(super) fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.rsplit_once('=') {
        Some((header, field)) if !header.is_empty() => Ok((header.trim().to_owned(), field.trim().to_owned())),
        _ => Err("expected HEADER=field, or HEADER= to ignore a column"),
    }
}

/// The fields of a file's columns or keys.
#[derive(Debug)]
pub(super) struct Mapping {
    targets: HashMap<String, Target>,
    /// The fields that every row has.
    pub(super) required: &'static [&'static str],
    /// Whether a warning has named the ignored fields.
    has_warned: AtomicBool,
}

impl Mapping {
    /// Maps these headers to these fields. Other headers are names of fields.
    pub(super) fn new(pairs: &[(String, String)]) -> anyhow::Result<Self> {
        let mut given = HashMap::new();
        for (header, field) in pairs {
            let target = match known(field) {
                Some(target) => target,
                None if field.is_empty() => None,
                None => bail!("--map {header}={field}: there is no field {field}; the fields are {}", fields()),
            };
            if given.insert(header.clone(), target).is_some() {
                bail!("--map names the column {header} twice");
            }
        }
        Ok(Self { targets: given, required: REQUIRED, has_warned: AtomicBool::new(false) })
    }

    /// Returns the target of a column or key; `None` if it is unknown.
    pub(super) fn target(&self, name: &str) -> Option<Target> {
        self.given(name).map(|(_, target)| *target).or_else(|| known(name))
    }

    /// Returns the header of `--map` that matches a name, and its target.
    fn given(&self, name: &str) -> Option<(&String, &Target)> {
        let key = letters(name);
        let exact = self.targets.get_key_value(name.trim());
        exact.or_else(|| self.targets.iter().find(|(header, _)| !key.is_empty() && letters(header) == key))
    }

    /// Warns once that fields are ignored because the service assigns them.
    pub(super) fn report_read_only(&self, names: &[&str]) {
        let names: Vec<&str> = names.iter().copied().filter(|name| self.is_read_only(name)).collect();
        if !names.is_empty() && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("ignored, because the service assigns them: {}", names.join(", "));
        }
    }

    fn is_read_only(&self, name: &str) -> bool {
        !is_unnamed(name) && self.given(name).is_none() && known(name) == Some(None)
    }

    /// Returns the targets of the columns of a header row.
    pub(super) fn columns<'a>(&self, header: impl Iterator<Item = &'a str>) -> anyhow::Result<Vec<Target>> {
        let header: Vec<&str> = header.collect();
        for name in self.targets.keys() {
            if !header.iter().any(|column| self.given(column).is_some_and(|(given, _)| given == name)) {
                bail!(
                    "--map names the column {name}, which the file does not have; its columns are: {}",
                    header.join(", ")
                );
            }
        }
        if header.iter().all(|name| self.target(name).is_none() || is_unnamed(name)) {
            bail!(
                "the first row must name the columns, but none of its cells is a field name: {}; the fields are {}",
                header.join(", "),
                fields()
            );
        }
        let mut columns = Vec::with_capacity(header.len());
        for (index, name) in header.iter().enumerate() {
            let Some(target) = self.target(name) else {
                bail!(
                    "the column {name:?} is not a field: name one with --map \"{name}=field\", or ignore the \
                     column with --map \"{name}=\"; the fields are {}",
                    fields()
                );
            };
            if let (Some(field), Some(first)) = (target, columns.iter().position(|other| *other == target)) {
                let other = header[first];
                // --map applies to all columns with a header.
                let advice = if letters(other) == letters(name) {
                    "remove one of them from the file".to_owned()
                } else {
                    format!("leave one out with --map \"{name}=\"")
                };
                bail!(
                    "the columns {} ({other:?}) and {} ({name:?}) are the same field, {}: {advice}",
                    first + 1,
                    index + 1,
                    field.name
                );
            }
            columns.push(target);
        }
        self.report_read_only(&header);
        for required in self.required {
            if !columns.contains(&AffiliateInput::field(required)) {
                bail!(
                    "no column is the field {required}, which every affiliate has; name it with --map \
                     \"COLUMN={required}\"; the columns are: {}",
                    header.join(", ")
                );
            }
        }
        Ok(columns)
    }
}

/// Returns the letters and digits of a heading in lower case. Any case and any separators are the same heading.
pub(super) fn letters(name: &str) -> String {
    name.chars().filter(|next| next.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether the service itself writes this heading.
pub(super) fn is_exact(name: &str) -> bool {
    AffiliateInput::field(name).is_some() || Affiliate::field(name).is_some()
}

/// Whether a column has no heading, such as an index.
pub(super) fn is_unnamed(name: &str) -> bool {
    let letters = letters(name);
    let number = letters.strip_prefix(UNNAMED).filter(|_| name.contains(':'));
    name.trim().is_empty() || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the field of a heading or key.
fn known(name: &str) -> Option<Target> {
    if is_unnamed(name) {
        return Some(None);
    }
    let name = letters(name);
    let name = match ALIASES.iter().find(|(alias, _)| *alias == name) {
        Some((_, field)) => letters(field),
        None => ["one", "two", "three"].iter().zip(["1", "2", "3"]).fold(name, |name, (word, digit)| {
            name.strip_suffix(digit).map_or(name.clone(), |start| format!("{start}{word}"))
        }),
    };
    let written = AffiliateInput::FIELDS.iter().find(|field| letters(field.name) == name);
    written.map(Some).or_else(|| {
        let read = Affiliate::FIELDS.iter().find(|field| letters(field.name) == name)?;
        let written = AffiliateInput::FIELDS.iter().find(|field| field.column.name == read.column.name);
        // The service assigns the fields that are read and never written.
        Some(written)
    })
}

fn fields() -> String {
    AffiliateInput::names().join(", ")
}

#[cfg(test)]
mod tests {
    use compliance_api::{record::Record as _, v1::AffiliateInput};

    use super::{Mapping, Target, pair};

    fn field(name: &str) -> Target {
        let field = AffiliateInput::field(name);
        assert!(field.is_some(), "{name}");
        field
    }

    #[test]
    fn columns_are_found_by_either_name_or_by_a_flag() {
        let pairs = ["Nr.=client_affiliate_id", "Kommentar="].map(|text| pair(text).unwrap());
        let mapping = Mapping::new(&pairs).unwrap();
        let header = ["Nr.", "Distributor Name", "id", "Electronic mail", "Kommentar", "zip"];
        let error = mapping.columns(header.into_iter()).unwrap_err().to_string();
        assert!(error.contains("\"Electronic mail\"") && error.contains("--map"), "{error}");
        let header = ["Nr.", "Distributor Name", "id", "E-mail\u{a0}1", "Kommentar", "ZIP or postal code"];
        let columns = mapping.columns(header.into_iter()).unwrap();
        assert_eq!(
            columns,
            [field("client_affiliate_id"), field("affiliate_name"), None, field("email_one"), None, field("zip")]
        );
    }

    #[test]
    fn wrong_columns_are_errors() {
        let columns = |header: &[&str]| Mapping::new(&[]).unwrap().columns(header.iter().copied());
        assert!(columns(&["affiliate_name"]).unwrap_err().to_string().contains("client_affiliate_id"));
        let twice = columns(&["client_affiliate_id", "affiliate_name", "distributor_name"]);
        assert!(twice.unwrap_err().to_string().ends_with(
            "the columns 2 (\"affiliate_name\") and 3 (\"distributor_name\") are the same field, affiliate_name: leave one \
             out with --map \"distributor_name=\""
        ));
        let twice = columns(&["client_affiliate_id", "City", "affiliate_name", "city"]).unwrap_err().to_string();
        assert!(twice.ends_with("are the same field, city: remove one of them from the file"), "{twice}");
        assert!(columns(&["A-1", "Ann"]).unwrap_err().to_string().contains("the first row must name the columns"));
        assert!(Mapping::new(&[pair("a=b").unwrap()]).unwrap_err().to_string().contains("no field b"));
        let absent = Mapping::new(&[pair("a=city").unwrap()]).unwrap();
        assert!(absent.columns(["affiliate_name", "client_affiliate_id"].into_iter()).is_err());
        assert!(pair("city").is_err());
    }
}
