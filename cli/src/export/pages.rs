//! The records of a company, page by page, in the form of imports.

use compliance_api::{
    country,
    record::{Record as _, StoredAs},
    rules::Check as _,
    v1::{
        Affiliate, AffiliateInput, CaseInput, ExportCasesRequest, ExportUrlsRequest, ListAffiliatesRequest,
        UrlObservation,
    },
};
use futures::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use serde::Serialize;
use serde_json::{Map, Value};
use tonic::Status;

use crate::service::{RecordKind, Service, patiently};

/// Opens a stream of pages of records, each with its last ID. It has records with greater IDs than `id` that have changed after a
/// position, if one is given. The stream of affiliates does not consider `id`.
pub(super) async fn after(
    service: &Service,
    kind: RecordKind,
    id: i64,
    changed_after: Option<i64>,
) -> anyhow::Result<BoxStream<'static, Result<(Vec<Value>, i64), Status>>> {
    Ok(match kind {
        RecordKind::Affiliates => {
            let list =
                patiently(async || service.affiliates().list_affiliates(ListAffiliatesRequest { changed_after }).await)
                    .await?;
            list.map_ok(|message| {
                let last_id = message.affiliates.last().map_or(0, |affiliate| affiliate.id);
                (message.affiliates.iter().map(|affiliate| written(affiliate).into()).collect(), last_id)
            })
            .boxed()
        }
        RecordKind::Urls => {
            let request = ExportUrlsRequest { after_url_id: Some(id), changed_after };
            let list = patiently(async || service.monitoring().export_urls(request).await).await?;
            list.map_ok(|message| (values(&message.observations), message.last_url_id)).boxed()
        }
        RecordKind::Cases => {
            let request = ExportCasesRequest { after_case_id: Some(id), changed_after };
            let list = patiently(async || service.monitoring().export_cases(request).await).await?;
            list.map_ok(|message| (values(&message.cases), message.last_case_id)).boxed()
        }
    })
}

fn values(messages: &[impl Serialize]) -> Vec<Value> {
    // Messages are always objects.
    messages.iter().map(|message| serde_json::to_value(message).unwrap_or_default()).collect()
}

/// Returns the columns of a kind. Cases have the fields of the case between their request ID and incidents.
pub(super) fn columns(kind: RecordKind) -> Vec<&'static str> {
    match kind {
        RecordKind::Affiliates => AffiliateInput::names(),
        RecordKind::Urls => UrlObservation::MESSAGE.names().filter(|name| *name != "clear").collect(),
        RecordKind::Cases => {
            let (mut columns, fields) = (vec!["request_id"], CaseInput::MESSAGE.names());
            columns.extend(fields.chain(["incidents", "dates_as_given"]));
            columns
        }
    }
}

/// Returns the fields of an affiliate under the names of the write form.
fn written(affiliate: &Affiliate) -> Map<String, Value> {
    let mut object = Map::new();
    for field in AffiliateInput::FIELDS {
        let Some(read) = Affiliate::FIELDS.iter().find(|read| read.column.name == field.column.name) else { continue };
        let value = match (read.column.form, field.column.form) {
            (StoredAs::CountryNumber, StoredAs::CountryCode) => {
                let numeric = affiliate.country.and_then(|code| i16::try_from(code).ok());
                numeric.and_then(country::alpha2).map(Value::from)
            }
            _ => read.written(affiliate).map(Value::from),
        };
        object.extend(value.map(|value| (field.name.to_owned(), value)));
    }
    object
}

#[cfg(test)]
mod tests {
    use compliance_api::{
        record::{Access, Record as _},
        v1::{Affiliate, AffiliateInput},
    };

    #[test]
    fn every_field_that_is_read_is_written() {
        let mut affiliate = Affiliate::default();
        for field in Affiliate::FIELDS {
            let text = match field.access {
                Access::Text { .. } => field.name,
                Access::Boolean { .. } => "yes",
                _ => "276",
            };
            assert!(field.set_written(&mut affiliate, Some(text.to_owned())), "{field:?}");
        }
        let written = super::written(&affiliate);
        assert_eq!(written.len(), AffiliateInput::FIELDS.len());
        assert_eq!((&written["country"], &written["status"]), (&"DE".into(), &"distributor_status".into()));
    }
}
