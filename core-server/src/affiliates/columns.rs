//! The columns of an affiliate: one for each field that is written, of the same name, in the same order.

use compliance_api::{
    country,
    rules::start_date,
    text_record::TextRecord as _,
    v1::{Affiliate, AffiliateInput},
};
use sqlx::{
    Encode, Postgres, Row as _, Type,
    encode::IsNull,
    error::BoxDynError,
    postgres::{PgArgumentBuffer, PgHasArrayType, PgRow, PgTypeInfo, types::PgRecordEncoder},
};

/// The columns that hold an affiliate's fields. Each is written from the field of an [`Input`].
pub(super) const COLUMNS: &[&str] = AffiliateInput::FIELDS;

/// The database's type of an [`Input`].
const INPUT: &str = "affiliate_input";

/// `column::type`, for columns that are no text.
fn cast(column: &str) -> &'static str {
    match column {
        "country" => "::smallint",
        "start_date" => "::date",
        _ => "",
    }
}

/// The columns' names, separated by commas.
pub(super) fn names() -> String {
    COLUMNS.join(", ")
}

/// The values of the columns as they stand in a relation of inputs, each as its column's type.
pub(super) fn values(relation: &str) -> String {
    let values: Vec<String> = COLUMNS.iter().map(|column| format!("{relation}.{column}{}", cast(column))).collect();
    values.join(", ")
}

/// `column = new value if its bit of the mask is set, else what it was`, for every column.
pub(super) fn assignments(mask: &str, new: &str, old: &str) -> String {
    let assignments: Vec<String> = COLUMNS
        .iter()
        .enumerate()
        .map(|(bit, column)| {
            let cast = cast(column);
            let set = 1_i64 << bit;
            format!("{column} = case when {mask} & {set} <> 0 then {new}.{column}{cast} else {old}.{column} end")
        })
        .collect();
    assignments.join(", ")
}

/// A normalised affiliate as the database's type `affiliate_input`.
pub(super) struct Input<'a> {
    /// The place in the request of one to be created, from 1; the ID of one to be changed.
    pub(super) key: i64,
    /// Of one to be changed: a bit for each column that is.
    pub(super) mask: i64,
    pub(super) affiliate: &'a AffiliateInput,
}

impl Type<Postgres> for Input<'_> {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_name(INPUT)
    }
}

impl PgHasArrayType for Input<'_> {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::array_of(INPUT)
    }
}

impl Encode<'_, Postgres> for Input<'_> {
    // As `derive(sqlx::Type)` does it, without a second list of all fields.
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        let mut record = PgRecordEncoder::new(buffer);
        record.encode(self.key)?.encode(self.mask)?;
        for position in 0..COLUMNS.len() {
            record.encode(self.affiliate.text(position).filter(|text| !text.is_empty()))?;
        }
        record.finish();
        Ok(IsNull::No)
    }
}

/// Brings the fields whose columns are no text into the form that these are read from: a country's numeric code, a
/// date as `YYYY-MM-DD`. Answers with the text of a country that is none; its field is then empty.
pub(super) fn normalise(affiliate: &mut AffiliateInput) -> Option<String> {
    if let Some(text) = affiliate.start_date.take_if(|text| !text.is_empty()) {
        affiliate.start_date = start_date(&text);
    }
    let text = affiliate.country.take_if(|text| !text.is_empty())?;
    match country::numeric(&text) {
        Some(code) => {
            affiliate.country = Some(code.to_string());
            None
        }
        None => Some(text),
    }
}

/// What is selected to read an affiliate from the alias `a`; [`read`] takes it from the column `first` on.
pub(super) fn selection() -> String {
    let mut selection = String::from("a.company_id, a.id, a.country");
    for field in Affiliate::FIELDS {
        selection.push_str(", a.");
        selection.push_str(match *field {
            "distributor_name" => "affiliate_name",
            "client_distributor_id" => "client_affiliate_id",
            "distributor_status" => "status",
            "start_date" => "start_date::text",
            other => other,
        });
    }
    selection
}

/// Reads a row of [`selection`].
pub(super) fn read(row: &PgRow) -> Result<Affiliate, sqlx::Error> {
    let country: Option<i16> = row.try_get_unchecked(2)?;
    let mut affiliate = Affiliate {
        client_id: row.try_get_unchecked(0)?,
        id: row.try_get_unchecked(1)?,
        country: country.map(i32::from),
        ..Affiliate::default()
    };
    for position in 0..Affiliate::FIELDS.len() {
        affiliate.set_text(position, row.try_get_unchecked(position + 3)?);
    }
    Ok(affiliate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_that_is_written_is_read() {
        let read = Affiliate::FIELDS.len() + 1; // and the country, as a number
        assert_eq!(COLUMNS.len(), read);
        assert_eq!(selection().matches(", ").count(), read + 1);
        // The mask of an update has a bit for each.
        assert!(COLUMNS.len() < 63);
    }
}
