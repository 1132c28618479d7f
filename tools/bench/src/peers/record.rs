//! Defines the affiliate record that the peers serve, with the documented fields.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::json;

/// Declares the record from its text fields, which follow `id`, `client_id` and `country`.
///
/// A `field` reads the column with its name. `field = "expression"` reads an expression.
macro_rules! record {
    ($($field:ident $(= $column:literal)?),+ $(,)?) => {
        /// The record.
        #[derive(Debug, Serialize, sqlx::FromRow)]
        pub(crate) struct Affiliate {
            pub(super) id: i64,
            client_id: i64,
            country: Option<i16>,
            $($field: Option<String>,)+
        }

        /// Every contender's query, without the condition on company and ID.
        pub(crate) const SELECT: &str = concat!(
            "select id, company_id as client_id, country",
            $(", ", record!(@column $field $($column)?), " as ", stringify!($field),)+
            " from affiliates"
        );

        /// Returns the names of all fields.
        #[cfg(test)]
        fn names() -> Vec<&'static str> {
            vec!["id", "client_id", "country", $(stringify!($field)),+]
        }
    };
    (@column $field:ident) => { stringify!($field) };
    (@column $field:ident $column:literal) => { $column };
}

record! {
    client_distributor_id = "client_affiliate_id",
    distributor_name = "affiliate_name",
    email_one, email_two, phone_one, phone_two, facebook, instagram, youtube, twitter, tiktok, pintrest,
    first_name, last_name, notes, address, city, state, zip, ranking, replicated_website, sponsor, upline,
    distributor_status = "status",
    start_date = "start_date::text",
    language_used, territory, entrepreneur_id, entrepreneur_spouse_id, international_distributor,
    is_territory_director, jv_status, league, territory_master, merchant_type, company_name, sponsor_id,
    sponsor_email, pay_rank, recognition_rank,
}

/// A record's envelope.
#[derive(Debug, Serialize)]
pub(super) struct Envelope {
    code: &'static str,
    status: &'static str,
    detail: Detail,
    data: Affiliate,
}

#[derive(Debug, Serialize)]
struct Detail {
    msg: &'static str,
}

/// Returns the response body for a record.
pub(super) fn body(data: Affiliate) -> Envelope {
    Envelope { code: "1026", status: "ok", detail: Detail { msg: "Affiliate found." }, data }
}

/// Returns a peer's response.
pub(super) fn respond(found: sqlx::Result<Option<Affiliate>>) -> Response {
    match found {
        Ok(Some(data)) => axum::Json(body(data)).into_response(),
        Ok(None) => (StatusCode::NOT_FOUND, axum::Json(json!({ "code": "1025" }))).into_response(),
        Err(error) => {
            eprintln!("{error}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use compliance_api::{record::Record as _, v1::Affiliate};

    #[test]
    fn peer_record_contains_only_documented_fields() {
        let documented = Affiliate::names();
        assert!(super::names().iter().all(|name| documented.contains(name)));
    }
}
