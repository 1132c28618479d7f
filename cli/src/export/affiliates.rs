//! Affiliates, under the names that they are written with.

use compliance_api::{
    country,
    error::Error,
    text_record::TextRecord as _,
    v1::{Affiliate, AffiliateInput, ListAffiliatesRequest},
};
use serde_json::{Map, Value};

use super::output::Output;
use crate::{
    progress::Progress,
    service::{Service, patiently, refused},
};

pub(super) async fn export(service: &Service, mut output: Output, progress: &Progress) -> anyhow::Result<u64> {
    output.columns(AffiliateInput::FIELDS.to_vec())?;
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

/// The fields that an affiliate has, under the names that they are written with.
fn written(affiliate: &Affiliate) -> Map<String, Value> {
    let text = |field: &str| {
        if field == "country" {
            let numeric = affiliate.country.and_then(|code| i16::try_from(code).ok());
            return numeric.and_then(country::alpha2);
        }
        let read = match field {
            "affiliate_name" => "distributor_name",
            "client_affiliate_id" => "client_distributor_id",
            "status" => "distributor_status",
            same => same,
        };
        Affiliate::position(read).and_then(|position| affiliate.text(position))
    };
    let fields = AffiliateInput::FIELDS.iter();
    fields.filter_map(|field| Some(((*field).to_owned(), Value::from(text(field)?)))).collect()
}

#[cfg(test)]
mod tests {
    use compliance_api::{
        text_record::TextRecord as _,
        v1::{Affiliate, AffiliateInput},
    };

    #[test]
    fn every_field_that_is_read_is_written() {
        let mut affiliate = Affiliate { country: Some(276), ..Affiliate::default() };
        for position in 0..Affiliate::FIELDS.len() {
            affiliate.set_text(position, Some(Affiliate::FIELDS[position].to_owned()));
        }
        let written = super::written(&affiliate);
        assert_eq!(written.len(), AffiliateInput::FIELDS.len());
        assert_eq!((&written["country"], &written["status"]), (&"DE".into(), &"distributor_status".into()));
    }
}
