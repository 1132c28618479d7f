//! Chooses response formats from the `Accept` header.

use axum::response::Response;
use compliance_api::csv_cell::Escape;
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, VARY},
};

/// A list format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// The JSON envelope.
    #[default]
    Json,
    /// One JSON record per line.
    Ndjson,
    /// A header row, then one row per record.
    Csv(Escape),
}

impl Format {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        preferred(headers, |media_type, parameters| {
            let is = |known: &str| known.eq_ignore_ascii_case(media_type);
            let is_plain = || parameters.iter().any(|parameter| parameter.eq_ignore_ascii_case("escape=none"));
            Some(match () {
                () if is("application/json") => Self::Json,
                () if is("application/x-ndjson") => Self::Ndjson,
                () if is("text/csv") => Self::Csv(if is_plain() { Escape::None } else { Escape::Formulas }),
                () => return None,
            })
        })
    }
}

/// Media type of server-sent events.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";

/// Returns whether the client prefers server-sent events to JSON.
pub(crate) fn prefers_events(headers: &HeaderMap) -> bool {
    preferred(headers, |media_type, _| match media_type.to_ascii_lowercase().as_str() {
        "application/json" => Some(false),
        EVENT_STREAM => Some(true),
        _ => None,
    })
}

/// Returns whether the client is a browser. Other clients accept HTML after JSON, or not at all.
pub(crate) fn is_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let first = accepted.split([',', ';']).next().unwrap_or_default();
    first.trim().eq_ignore_ascii_case("text/html")
}

/// Returns the client's preferred format, or the default. `format` maps a media type and its parameters to a format.
fn preferred<T: Copy + Default>(headers: &HeaderMap, format: impl Fn(&str, &[&str]) -> Option<T>) -> T {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(',')).filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let parameters: Vec<&str> = parts.collect();
        let weight = |part: &&str| thousandths(part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="))?);
        let quality = parameters.iter().find_map(weight).unwrap_or(1000);
        Some((quality, format(media_type, &parameters)?)).filter(|_| quality > 0)
    });
    // On a tie, the first format wins.
    ranges.rev().max_by_key(|(quality, _)| *quality).map_or_else(T::default, |(_, format)| format)
}

/// Tells caches that the response depends on `Accept`.
pub(crate) fn varied(mut response: Response) -> Response {
    response.headers_mut().append(VARY, HeaderValue::from_static("accept"));
    response
}

/// Parses a weight between 0 and 1 as thousandths.
fn thousandths(weight: &str) -> Option<u32> {
    let weight: f32 = weight.parse().ok().filter(|weight| (0.0..=1.0).contains(weight))?;
    Some((weight * 1000.0).round() as u32)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, header::ACCEPT};

    use super::{
        Escape,
        Format::{self, Json, Ndjson},
    };

    #[expect(non_upper_case_globals, reason = "reads like the other formats")]
    const Csv: Format = Format::Csv(Escape::Formulas);
    const PLAIN: Format = Format::Csv(Escape::None);

    #[test]
    fn preferred_accept_format_wins() {
        let cases: [(&[&str], Format); 20] = [
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
            (&["text/csv; escape=none"], PLAIN),
            (&["text/csv;charset=utf-8;Escape=None;q=0.5"], PLAIN),
            (&["text/csv;escape=formulas"], Csv),
            (&["text/csv;q=0.5, text/csv;escape=none"], PLAIN),
            (&["text/csv, text/csv;escape=none;q=0.9"], Csv),
        ];
        for (values, expected) in cases {
            let headers = values.iter().map(|value| (ACCEPT, HeaderValue::from_static(value)));
            assert_eq!(Format::of(&headers.collect::<HeaderMap>()), expected, "{values:?}");
        }
    }
}
