//! Maps columns of CSV and keys of NDJSON to fields.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::bail;
use compliance_api::{
    record::{Record as _, RecordField},
    v1::{Affiliate, AffiliateInput},
};

/// The target of a column or key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Field(&'static RecordField<AffiliateInput>),
    /// The column is left out.
    Nothing,
}

/// Parses one `--map HEADER=field` into the header and the field.
pub(super) fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.rsplit_once('=') {
        Some((header, field)) if !header.is_empty() => Ok((header.trim().to_owned(), field.trim().to_owned())),
        _ => Err("expected HEADER=field, or HEADER= to leave a column out"),
    }
}

/// The fields of a file's columns or keys.
#[derive(Clone, Debug)]
pub(super) struct Mapping {
    targets: HashMap<String, Target>,
    /// The fields that every row has.
    pub(super) required: &'static [&'static str],
    /// Whether the fields that are left out were named.
    is_told: Arc<AtomicBool>,
}

impl Mapping {
    /// The mapping of these headers to these fields. Other headers have the names of fields.
    pub(super) fn new(pairs: &[(String, String)]) -> anyhow::Result<Self> {
        let mut given = HashMap::new();
        for (header, field) in pairs {
            let target = match known(field) {
                Some(target) => target,
                None if field.is_empty() => Target::Nothing,
                None => bail!("--map {header}={field}: there is no field {field}; the fields are {}", fields()),
            };
            if given.insert(header.clone(), target).is_some() {
                bail!("--map names the column {header} twice");
            }
        }
        Ok(Self { targets: given, required: &["client_affiliate_id", "affiliate_name"], is_told: Arc::default() })
    }

    /// The target of a column or key; `None` if it is unknown.
    pub(super) fn target(&self, name: &str) -> Option<Target> {
        let name = name.trim();
        self.targets.get(name).copied().or_else(|| known(name))
    }

    /// Says once that fields are left out because the service assigns them.
    pub(super) fn report_read_only(&self, names: &[&str]) {
        let names: Vec<&str> = names.iter().copied().filter(|name| self.is_read_only(name)).collect();
        if !names.is_empty() && !self.is_told.swap(true, Ordering::Relaxed) {
            tracing::warn!("left out, since the service assigns them: {}", names.join(", "));
        }
    }

    fn is_read_only(&self, name: &str) -> bool {
        !self.targets.contains_key(name.trim()) && known(name) == Some(Target::Nothing)
    }

    /// The targets of the columns of a header row.
    pub(super) fn columns<'a>(&self, header: impl Iterator<Item = &'a str>) -> anyhow::Result<Vec<Target>> {
        let header: Vec<&str> = header.collect();
        for name in self.targets.keys() {
            if !header.iter().any(|column| column.trim() == name) {
                bail!("--map names the column {name}, and the file has none; its columns are: {}", header.join(", "));
            }
        }
        let mut columns = Vec::with_capacity(header.len());
        for name in &header {
            let Some(target) = self.target(name) else {
                bail!(
                    "there is no field for the column {name:?}: name one with --map \"{name}=field\", or leave the \
                     column out with --map \"{name}=\"; the fields are {}",
                    fields()
                );
            };
            if target != Target::Nothing && columns.contains(&target) {
                bail!(
                    "the columns {:?} and {name:?} are the same field; leave one out with --map \"{name}=\"",
                    header[columns.iter().position(|column| *column == target).unwrap_or_default()]
                );
            }
            columns.push(target);
        }
        self.report_read_only(&header);
        for required in self.required {
            let field = AffiliateInput::field(required).map(Target::Field);
            if !columns.iter().any(|column| Some(*column) == field) {
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

/// The field of a name as it is written or read, whatever separates its words.
fn known(name: &str) -> Option<Target> {
    let name = name.trim().to_lowercase().replace([' ', '-'], "_");
    AffiliateInput::field(&name).map(Target::Field).or_else(|| {
        let read = Affiliate::field(&name)?;
        let written = AffiliateInput::FIELDS.iter().find(|field| field.column.name == read.column.name);
        // The service assigns the fields that are read and never written.
        Some(written.map_or(Target::Nothing, Target::Field))
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
        Target::Field(AffiliateInput::field(name).unwrap())
    }

    #[test]
    fn columns_are_found_by_either_name_or_by_a_flag() {
        let pairs = ["Nr.=client_affiliate_id", "Kommentar="].map(|text| pair(text).unwrap());
        let mapping = Mapping::new(&pairs).unwrap();
        let header = ["Nr.", "Distributor Name", "id", "E-mail One", "Kommentar", "zip"];
        let error = mapping.columns(header.into_iter()).unwrap_err().to_string();
        assert!(error.contains("\"E-mail One\"") && error.contains("--map"), "{error}");
        let header = ["Nr.", "Distributor Name", "id", "Email-One", "Kommentar", "zip"];
        let columns = mapping.columns(header.into_iter()).unwrap();
        assert_eq!(
            columns,
            [
                field("client_affiliate_id"),
                field("affiliate_name"),
                Target::Nothing,
                field("email_one"),
                Target::Nothing,
                field("zip")
            ]
        );
    }

    #[test]
    fn wrong_columns_are_errors() {
        let columns = |header: &[&str]| Mapping::new(&[]).unwrap().columns(header.iter().copied());
        assert!(columns(&["affiliate_name"]).unwrap_err().to_string().contains("client_affiliate_id"));
        let twice = columns(&["client_affiliate_id", "affiliate_name", "distributor_name"]);
        assert!(twice.unwrap_err().to_string().contains("the columns \"affiliate_name\" and \"distributor_name\""));
        assert!(Mapping::new(&[pair("a=b").unwrap()]).unwrap_err().to_string().contains("no field b"));
        let absent = Mapping::new(&[pair("a=city").unwrap()]).unwrap();
        assert!(absent.columns(["affiliate_name", "client_affiliate_id"].into_iter()).is_err());
        assert!(pair("city").is_err());
    }
}
