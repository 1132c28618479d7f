//! The infractions of a record: lists of types and names in columns of its row.

use compliance_api::catalogue::Vocabulary::{InfractionName, InfractionType};
use sqlx::{Row as _, postgres::PgRow};
use storage::vocabulary::{self, own_name};

/// SQL for the own type and the own name of the row `i`.
pub(crate) fn own_names(company: &str) -> [String; 2] {
    [
        own_name(InfractionType, company, "i.infraction_type_id"),
        own_name(InfractionName, company, "i.infraction_name_id"),
    ]
}

/// Reads the types and names.
pub(crate) fn read(row: &PgRow) -> Result<impl Iterator<Item = (Option<String>, Option<String>)>, sqlx::Error> {
    let list = |ids, own, vocabulary| {
        let ids = row.try_get::<Option<Vec<Option<i32>>>, _>(ids)?.unwrap_or_default();
        let own = row.try_get::<Option<Vec<Option<String>>>, _>(own)?.unwrap_or_default();
        Ok::<_, sqlx::Error>(ids.into_iter().zip(own).map(move |(id, own)| vocabulary::name(vocabulary, id, own)))
    };
    let types = list("infraction_types", "own_infraction_types", InfractionType)?;
    Ok(types.zip(list("infraction_names", "own_infraction_names", InfractionName)?))
}
