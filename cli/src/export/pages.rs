//! The records of a company, page by page, in the form in which they are imported.

use compliance_api::{
    country,
    record::{Record as _, StoredAs},
    rules::Check as _,
    v1::{
        Affiliate, AffiliateInput, CaseInput, ExportCasesRequest, ExportUrlsRequest, ListAffiliatesRequest,
        OpenCaseRequest, UrlObservation,
    },
};
use futures::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use serde::Serialize;
use serde_json::{Map, Value};
use tonic::Status;

use super::output::OutputFormat;
use crate::{
    record_kind::RecordKind,
    service::{Refused, Service, patiently},
};

/// Some records, and the ID of the last.
pub(super) struct Page {
    pub(super) records: Vec<Map<String, Value>>,
    pub(super) last: i64,
}

/// Opens the stream of the records whose IDs are greater than `id`. The stream of affiliates always has all of them.
pub(super) async fn after(
    service: &Service,
    kind: RecordKind,
    format: OutputFormat,
    id: i64,
) -> Result<BoxStream<'static, Result<Page, Status>>, Refused> {
    Ok(match kind {
        RecordKind::Affiliates => {
            let list = patiently(async || service.affiliates().list_affiliates(ListAffiliatesRequest {}).await).await?;
            list.map_ok(|message| Page {
                records: message.affiliates.iter().map(written).collect(),
                last: message.affiliates.last().map_or(0, |affiliate| affiliate.id),
            })
            .boxed()
        }
        RecordKind::Urls => {
            let request = ExportUrlsRequest { after_url_id: Some(id) };
            let list = patiently(async || service.monitoring().export_urls(request).await).await?;
            list.map_ok(|message| Page {
                records: message.observations.iter().map(object).collect(),
                last: message.last_url_id,
            })
            .boxed()
        }
        RecordKind::Cases => {
            let request = ExportCasesRequest { after_case_id: Some(id) };
            let list = patiently(async || service.monitoring().export_cases(request).await).await?;
            list.map_ok(move |message| Page {
                records: message.cases.iter().map(|case| case_object(case, format)).collect(),
                last: message.last_case_id,
            })
            .boxed()
        }
    })
}

/// The columns of a kind: its fields, and those of a case beside its request ID and incidents.
pub(super) fn columns(kind: RecordKind) -> Vec<&'static str> {
    match kind {
        RecordKind::Affiliates => AffiliateInput::names(),
        RecordKind::Urls => UrlObservation::NAMES.iter().copied().filter(|name| *name != "clear").collect(),
        RecordKind::Cases => {
            let (mut columns, fields) = (vec!["request_id"], CaseInput::NAMES.iter().copied());
            columns.extend(fields.chain(["incidents", "dates_as_given"]));
            columns
        }
    }
}

fn object(message: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(message) {
        Ok(Value::Object(object)) => object,
        // Messages are always objects.
        _ => Map::new(),
    }
}

/// A case. In CSV, its fields stand beside its request ID and incidents.
fn case_object(case: &OpenCaseRequest, format: OutputFormat) -> Map<String, Value> {
    let mut object = object(case);
    if format == OutputFormat::Csv
        && let Some(Value::Object(fields)) = object.remove("case")
    {
        object.extend(fields);
    }
    object
}

/// The fields that an affiliate has, under the names that they are written with: those of the same columns.
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
            let text = if matches!(field.access, Access::Text { .. }) { field.name } else { "276" };
            assert!(field.set_written(&mut affiliate, Some(text.to_owned())), "{field:?}");
        }
        let written = super::written(&affiliate);
        assert_eq!(written.len(), AffiliateInput::FIELDS.len());
        assert_eq!((&written["country"], &written["status"]), (&"DE".into(), &"distributor_status".into()));
    }
}
