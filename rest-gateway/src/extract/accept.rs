//! The format in which a client accepts a list: the header `Accept`.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::{HeaderMap, header::ACCEPT, request::Parts};

/// A format of lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// An envelope.
    #[default]
    Json,
    /// One record a line.
    Ndjson,
    /// A row of names, and a row for each record.
    Csv,
}

impl Format {
    /// The format that the client prefers of those it names; an envelope if it names none.
    fn of(headers: &HeaderMap) -> Self {
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut best = (0, Self::Json);
        for range in values.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let format = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
                "application/x-ndjson" => Self::Ndjson,
                "text/csv" => Self::Csv,
                "application/json" => Self::Json,
                _ => continue,
            };
            let quality =
                parts.find_map(|part| thousandths(part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="))?));
            // Of several that it likes as much, the first.
            let quality = quality.unwrap_or(1000);
            if quality > best.0 {
                best = (quality, format);
            }
        }
        best.1
    }
}

/// A weight: `1`, or `0.5` with at most three digits after the point.
fn thousandths(weight: &str) -> Option<u32> {
    let weight: f32 = weight.parse().ok().filter(|weight| (0.0..=1.0).contains(weight))?;
    Some((weight * 1000.0).round() as u32)
}

impl<S: Sync> FromRequestParts<S> for Format {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header::ACCEPT};

    use super::Format::{self, Csv, Json, Ndjson};

    #[test]
    fn the_preferred_format_of_those_that_are_named() {
        let cases: [(&[&str], Format); 15] = [
            (&[], Json),
            (&["*/*"], Json),
            (&["text/html"], Json),
            (&["application/json"], Json),
            (&["application/x-ndjson"], Ndjson),
            (&["Text/CSV; charset=utf-8"], Csv),
            (&["text/csv, */*;q=0.1"], Csv),
            (&["text/csv;q=0.5, application/x-ndjson"], Ndjson),
            (&["text/csv;q=0.5;x=1", "application/x-ndjson; q=0.4"], Csv),
            (&["application/x-ndjson, text/csv"], Ndjson),
            (&["application/json, text/csv"], Json),
            (&["text/csv;q=0"], Json),
            (&["text/csv;q=0.000, application/x-ndjson;Q=0.001"], Ndjson),
            (&["text/csv;q=2"], Csv),
            (&["text/csvs,,;q=1"], Json),
        ];
        for (values, expected) in cases {
            let headers = values.iter().map(|value| (ACCEPT, HeaderValue::from_static(value)));
            assert_eq!(Format::of(&headers.collect::<HeaderMap>()), expected, "{values:?}");
        }
    }
}
