//! Reads: one by ID (coalesced), many by ID, a search, and the whole list as a stream.

use std::sync::LazyLock;

use admission::Memory;
use compliance_api::{
    error::Error,
    v1::{Affiliate, ListAffiliatesResponse, SearchAffiliatesRequest},
};
use sqlx::postgres::PgRow;
use storage::{
    database::Connections,
    reads::{ReadByKey, Reads},
    table::{Reader, read_all, selection},
    template::fill,
};

use crate::{
    lists::{self, RecordPage, Records, Source, read_by_ids, read_records},
    record_sql::Place,
    search,
};

static BY_KEYS: LazyLock<&'static str> = LazyLock::new(|| lists::by_keys(query));
static BY_KEY: LazyLock<&'static str> = LazyLock::new(|| lists::by_key(query));
static BY_IDS: LazyLock<&'static str> = LazyLock::new(|| lists::by_ids(query));
static AFTER: LazyLock<&'static str> = LazyLock::new(|| after(None));
static CHANGED_AFTER: LazyLock<&'static str> = LazyLock::new(|| after(Some(4)));

/// The statements that read affiliates, with the types of their parameters.
pub(super) fn statements() -> [(&'static str, &'static str); 5] {
    [
        (*BY_KEY, "bigint, bigint"),
        (*BY_KEYS, "bigint[], bigint[]"),
        (*BY_IDS, "bigint, bigint[]"),
        (*AFTER, "bigint, bigint, bigint"),
        (*CHANGED_AFTER, "bigint, bigint, bigint, bigint[]"),
    ]
}

fn after(ids: Option<usize>) -> &'static str {
    let (columns, from) = (columns(), lists::chosen("affiliates", "a", ids));
    fill(include_str!("sql/after.sql"), &[("columns", &columns), ("from", &from)]).leak()
}

/// The selected columns of an affiliate with the alias `a`.
pub(super) fn columns() -> String {
    selection::<Affiliate>("a.company_id", &[("affiliates", "a")], &[])
}

/// A query for an affiliate.
pub(crate) fn query(place: &Place) -> String {
    let query = "select :columns from :affiliates a where a.company_id = :company and a.id = :id limit 1";
    place.fill(query, &[("columns", &columns())])
}

pub(crate) fn single(pool: &Connections, memory: &Memory) -> Reads<Affiliate> {
    Reads::new(ReadByKey {
        name: "reads of affiliates",
        resource: 1,
        pool: pool.clone(),
        memory: memory.clone(),
        one: *BY_KEY,
        many: *BY_KEYS,
        decode: Reader::read,
        not_found: Error::affiliate_not_found,
        long: &[],
    })
}

/// Returns the company's affiliates among `ids`, by ID.
pub(super) async fn by_ids(source: Source, ids: &[i64]) -> Result<Records<Affiliate>, Error> {
    read_by_ids(source, *BY_IDS, ids, Reader::<Affiliate>::read).await
}

impl RecordPage for ListAffiliatesResponse {
    const RESOURCE: i16 = 1;

    type Filters = ();

    fn statement((): &(), changed: bool) -> &'static str {
        if changed { *CHANGED_AFTER } else { *AFTER }
    }

    fn read(rows: &[PgRow], _: i64) -> Result<Self, sqlx::Error> {
        Ok(Self { affiliates: read_all(rows, Reader::<Affiliate>::read)? })
    }
}

static SEARCH: LazyLock<&'static str> =
    LazyLock::new(|| fill(include_str!("sql/search.sql"), &[("columns", &columns())]).leak());

/// The statement, with the types of its parameters.
pub(crate) fn search_statement() -> (&'static str, &'static str) {
    (*SEARCH, "bigint, text[], bigint, bigint, text, text")
}

/// Minimum number of digits of a phone number.
const SHORTEST_PHONE: usize = 5;

/// The digits of a string that can be a phone number.
fn phone_digits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let is_phone = text.chars().all(|character| character.is_ascii_digit() || "+-()./ \u{a0}".contains(character));
    (is_phone && digits.len() >= SHORTEST_PHONE).then_some(digits)
}

/// Returns affiliates with exactly this name, and then affiliates, by ID, that contain its words or have its phone number.
pub(super) async fn search(source: Source, request: &SearchAffiliatesRequest) -> Result<Records<Affiliate>, Error> {
    let SearchAffiliatesRequest { q, limit } = request;
    let company_id = source.company_id;
    let query = || search::query(*SEARCH, "affiliate", company_id, q, *limit).bind(q.trim()).bind(phone_digits(q));
    read_records(source, query, Reader::<Affiliate>::read).await
}

#[cfg(test)]
mod tests {
    use super::phone_digits;

    #[test]
    fn a_phone_number_is_its_digits() {
        for (text, expected) in [
            ("+1 (555) 010-4477", Some("15550104477")),
            ("0041.44.123", Some("004144123")),
            ("1234", None),
            ("A-12345", None),
            ("12345@example.org", None),
        ] {
            assert_eq!(phone_digits(text).as_deref(), expected, "{text}");
        }
    }
}
