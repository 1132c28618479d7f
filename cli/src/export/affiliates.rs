//! Affiliates, under the names that they are written with.

use compliance_api::{
    country,
    error::Error,
    record::{Record as _, StoredAs},
    v1::{Affiliate, AffiliateInput, ListAffiliatesRequest},
};
use serde_json::{Map, Value};

use super::output::Output;
use crate::{
    progress::Progress,
    service::{Service, patiently, refused},
};

pub(super) async fn export(service: &Service, mut output: Output, progress: &Progress) -> anyhow::Result<u64> {
    output.columns(AffiliateInput::names())?;
    let list = patiently(|| {
        let mut client = service.affiliates();
        async move { client.list_affiliates(ListAffiliatesRequest {}).await }
    });
    let mut list = list.await.map_err(|error| refused(&error))?;
    let mut count = 0;
    while let Some(message) = list.message().await.map_err(|status| refused(&Error::from(&status)))? {
        for affiliate in &message.affiliates {
            output.write(&written(affiliate))?;
        }
        count += message.affiliates.len() as u64;
        progress.add(message.affiliates.len() as u64);
    }
    output.finish()?;
    Ok(count)
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
