//! Parses JSON from protobuf libraries: camel-case keys, 64-bit numbers as strings, and enum names in capitals.

use compliance_api::description::{Field, Kind, Message};
use serde::de::{DeserializeOwned, Error as _};
use serde_json::{Map, Value};
use spreadsheets::field_of;

/// Parses a record.
pub(super) fn parse<M: DeserializeOwned>(record: Value, message: &'static Message) -> serde_json::Result<M> {
    serde_json::from_value(object(record, message)?)
}

/// Converts a record to the format of import files.
fn object(value: Value, message: &'static Message) -> serde_json::Result<Value> {
    let Value::Object(given) = value else { return Ok(value) };
    let mut object = Map::new();
    for (key, value) in given {
        let Some(field) = field_of(message, &key) else {
            object.insert(key, value);
            continue;
        };
        let value = match value {
            Value::Array(items) => items.into_iter().map(|item| of_field(item, field)).collect::<Result<Value, _>>()?,
            value => of_field(value, field)?,
        };
        if object.insert(field.name.to_owned(), value).is_some() {
            return Err(serde_json::Error::custom(format!("the field {} appears twice", field.name)));
        }
    }
    Ok(object.into())
}

fn of_field(value: Value, field: &Field) -> serde_json::Result<Value> {
    Ok(match (field.kind, value) {
        (Kind::Message(message), value) if field.form.is_empty() => object(value, message)?,
        (Kind::Integer(_), Value::String(text)) => match text.parse::<i64>() {
            Ok(number) => number.into(),
            Err(_) => text.into(),
        },
        (Kind::Choice(choices), Value::String(text)) => {
            // The value name begins with the enum name, as in INCIDENT_TYPE_DISPLAY_AD.
            let name = text.to_ascii_lowercase();
            let choice = choices.iter().find(|(_, choice)| name == format!("{}_{choice}", field.name));
            choice.map_or(text, |(_, choice)| choice.replace('_', " ")).into()
        }
        (_, value) => value,
    })
}

#[cfg(test)]
mod tests {
    use compliance_api::{
        rules::Check as _,
        v1::{OpenCaseRequest, UrlObservation},
    };
    use serde_json::{Value, json};

    use super::parse;

    #[test]
    fn protobuf_json_parses_like_file_records() {
        let url = |record: Value| parse::<UrlObservation>(record, UrlObservation::MESSAGE);
        let printed = json!({"url": "https://example.org/", "affiliateId": "7", "lastSeen": "2026-01-31T12:00:00Z",
            "infractions": [{"infractionType": "Recruiting", "createdDate": "2026-01-30T00:00:00Z"}]});
        let written = json!({"url": "https://example.org/", "affiliate_id": 7, "last_seen": "2026-01-31 12:00:00",
            "infractions": [{"infraction_type": "Recruiting", "created_date": "2026-01-30 00:00:00"}]});
        assert_eq!(url(printed).unwrap(), serde_json::from_value(written).unwrap());
        let case = json!({"requestId": "c", "case": {"clientAffiliateId": "A", "followUpDate": "2026-05-01T00:00:00Z"},
            "incidents": [{"incidentType": "INCIDENT_TYPE_DISPLAY_AD", "reference": "ad 7"}], "datesAsGiven": true});
        let written = json!({"request_id": "c", "case": {"client_affiliate_id": "A", "follow_up_date": "2026-05-01 00:00:00"},
            "incidents": [{"incident_type": "display ad", "reference": "ad 7"}], "dates_as_given": true});
        let read = parse::<OpenCaseRequest>(case, OpenCaseRequest::MESSAGE).unwrap();
        assert_eq!(read, serde_json::from_value(written).unwrap());
        let twice = url(json!({"url": "https://example.org/", "lastSeen": null, "last_seen": null}));
        assert!(twice.unwrap_err().to_string().contains("last_seen appears twice"));
        assert!(url(json!({"uri": "x"})).unwrap_err().to_string().contains("unknown field"));
    }
}
