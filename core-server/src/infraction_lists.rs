//! The infractions of a record, read with it: lists of types and names in columns of its row.

use compliance_api::catalogue::Vocabulary::{InfractionName, InfractionType};
use sqlx::{Row as _, postgres::PgRow};
use storage::vocabulary::{self, own_name};

/// SQL that collects infractions: `columns` of the rows `i`, whose company is given as SQL, and the types and names.
/// `lists` are aggregates of the columns, `from` is the rest of the query.
pub(crate) fn query(company: &str, columns: &str, lists: &str, from: &str) -> String {
    let own_type = own_name(InfractionType, company, "i.infraction_type_id");
    let own_name = own_name(InfractionName, company, "i.infraction_name_id");
    format!(
        "select {lists}, array_agg(type_id) as infraction_types, array_agg(own_type) as own_infraction_types,
            array_agg(name_id) as infraction_names, array_agg(own_name) as own_infraction_names
        from (
            select {columns}, i.infraction_type_id as type_id, {own_type} as own_type,
                i.infraction_name_id as name_id, {own_name} as own_name
            from {from} order by i.id
        ) i"
    )
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
