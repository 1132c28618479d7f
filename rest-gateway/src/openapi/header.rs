//! Headers of responses.

use crate::json::{Json, object};

/// A header: its name, and whether every response that lists it has it.
#[derive(Clone, Copy)]
pub(super) struct Header {
    pub(super) name: &'static str,
    is_always_there: bool,
    description: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Text(&'static str),
    /// A whole number, at least this.
    Number(i64, i64),
}

pub(super) const REQUEST_ID: Header = Header {
    name: "X-Request-Id",
    is_always_there: true,
    description: "Names the request in the service's logs: the ID that the client sent, or a new one. Quote it when you report a problem.",
    kind: Kind::Text("12345678901234567890"),
};

/// The company's rate limit. An operator may switch the limit off; the headers are then absent.
pub(super) const RATE_LIMIT: [Header; 3] = [
    Header {
        name: "X-RateLimit-Limit",
        is_always_there: false,
        description: "Requests that the company may make within the window of the limit. Absent if there is no limit.",
        kind: Kind::Number(0, 1000),
    },
    Header {
        name: "X-RateLimit-Remaining",
        is_always_there: false,
        description: "Remaining requests.",
        kind: Kind::Number(0, 998),
    },
    Header {
        name: "X-RateLimit-Reset",
        is_always_there: false,
        description: "Seconds until the whole limit is available again.",
        kind: Kind::Number(0, 1),
    },
];

pub(super) const RETRY_AFTER: Header = Header {
    name: "Retry-After",
    is_always_there: true,
    description: "Whole seconds to wait before the request is sent again.",
    kind: Kind::Number(1, 1),
};

pub(super) const WWW_AUTHENTICATE: Header = Header {
    name: "WWW-Authenticate",
    is_always_there: true,
    description: "The challenge of RFC 6750; with `error=\"invalid_token\"` if a token was presented.",
    kind: Kind::Text("Bearer error=\"invalid_token\""),
};

pub(super) const ETAG: Header = Header {
    name: "ETag",
    is_always_there: true,
    description: "Changes with the content. Sent as `If-None-Match`, it gets 304 while nothing has changed.",
    kind: Kind::Text("\"2f1c\""),
};

pub(super) const LOCATION: Header = Header {
    name: "Location",
    is_always_there: false,
    description: "The path of the record that was created. Absent for a batch.",
    kind: Kind::Text("/api/affiliates/1"),
};

pub(super) const ALL: [Header; 8] =
    [REQUEST_ID, RATE_LIMIT[0], RATE_LIMIT[1], RATE_LIMIT[2], RETRY_AFTER, WWW_AUTHENTICATE, ETAG, LOCATION];

impl Header {
    pub(super) fn into_json(self) -> Json {
        let (schema, example) = match self.kind {
            Kind::Text(example) => (object! { "type": "string", "minLength": 1 }, Json::from(example)),
            Kind::Number(least, example) => (object! { "type": "integer", "minimum": least }, example.into()),
        };
        object! {
            "description": self.description,
            "required": self.is_always_there,
            "schema": schema,
            "example": example,
        }
    }
}

/// References to headers, with the three of the rate limit if they are given.
pub(super) fn references(headers: &[Header], rate_limit: Option<[Header; 3]>) -> Json {
    let headers = headers.iter().copied().chain(rate_limit.into_iter().flatten());
    Json::object(
        headers.map(|header| (header.name, object! { "$ref": format!("#/components/headers/{}", header.name) })),
    )
}
