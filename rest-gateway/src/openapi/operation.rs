//! One operation of the document: what it takes, and every response that it can give.

use compliance_api::{
    description,
    error::{Reason, meaning},
};
use http::StatusCode;

use super::{
    header::{self, Header},
    parameter, refusal,
};
use crate::json::{Json, object};

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Affiliates,
    Urls,
    Cases,
    Service,
}

impl Tag {
    pub(super) const ALL: [Self; 4] = [Self::Affiliates, Self::Urls, Self::Cases, Self::Service];

    /// Generated clients name modules and folders after it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Affiliates => "affiliates",
            Self::Urls => "urls",
            Self::Cases => "cases",
            Self::Service => "service",
        }
    }

    pub(super) fn doc(self) -> &'static str {
        match self {
            Self::Affiliates => "The company's own records of its affiliates: list, read, create, update.",
            Self::Urls => "Web addresses monitored for the company: list, read, add.",
            Self::Cases => "Incidents grouped for an affiliate: list, read.",
            Self::Service => "What this service is, its health, and this document. No token is needed.",
        }
    }
}

/// An operation: its documentation and all of its responses.
pub(crate) struct Operation {
    pub(super) id: &'static str,
    pub(super) tag: Tag,
    pub(super) summary: &'static str,
    description: String,
    parameters: Vec<Json>,
    body: Option<Json>,
    responses: Vec<(StatusCode, Json)>,
    refusals: Vec<Reason>,
    needs_token: bool,
}

impl Operation {
    /// An operation for everybody.
    pub(super) fn public(id: &'static str, summary: &'static str, description: &str) -> Self {
        Self {
            id,
            tag: Tag::Service,
            summary,
            description: description.to_owned(),
            parameters: vec![parameter::request_id()],
            body: None,
            responses: Vec::new(),
            refusals: vec![Reason::HostInvalid, Reason::ExpectationFailed, Reason::Overloaded],
            needs_token: false,
        }
    }

    /// An operation of partners, which calls `rpc` of the core (`Service/Method`).
    pub(super) fn of_partners(tag: Tag, id: &'static str, summary: &'static str, rpc: &str) -> Self {
        let operation = Self::public(id, summary, description::operation(rpc));
        let operation = Self { tag, needs_token: true, ..operation };
        operation.refuses(&[
            Reason::TokenMissing,
            Reason::TokenInvalid,
            Reason::TokenExpired,
            Reason::RateLimited,
            Reason::Internal,
            Reason::DatabaseUnavailable,
            Reason::CoreUnavailable,
            Reason::DeadlineExceeded,
        ])
    }

    /// Replaces the description.
    pub(super) fn described(self, description: &str) -> Self {
        Self { description: description.to_owned(), ..self }
    }

    /// Adds parameters.
    pub(super) fn parameters(mut self, parameters: impl IntoIterator<Item = Json>) -> Self {
        self.parameters.extend(parameters);
        self
    }

    /// Adds a JSON body: its schema, and examples by name.
    pub(super) fn body(self, schema: Json, examples: Json) -> Self {
        let content = object! { "application/json": object! { "schema": schema, "examples": examples } };
        let body = object! { "required": true, "content": content };
        Self { body: Some(body), ..self }.refuses(&[
            Reason::InvalidFields,
            Reason::BodyTooLarge,
            Reason::EncodingUnsupported,
        ])
    }

    /// Adds a successful response with JSON: its schema and examples by name.
    pub(super) fn returns(self, status: StatusCode, description: &str, schema: Json, examples: Json) -> Self {
        self.returns_with(&[], status, description, schema, examples)
    }

    /// Adds a successful response with JSON and headers of its own.
    pub(super) fn returns_with(
        mut self,
        headers: &[Header],
        status: StatusCode,
        description: &str,
        schema: Json,
        examples: Json,
    ) -> Self {
        let limited = self.needs_token.then_some(header::RATE_LIMIT);
        let content = object! { "application/json": object! { "schema": schema, "examples": examples } };
        let response = object! {
            "description": description,
            "headers": header::references(&[&[header::REQUEST_ID], headers].concat(), limited),
            "content": content,
        };
        self.responses.push((status, response));
        self
    }

    /// Adds a response of any form.
    pub(super) fn responds(mut self, status: StatusCode, response: Json) -> Self {
        self.responses.push((status, response));
        self
    }

    /// Leaves out the refusals of a status, which has a response of its own.
    pub(super) fn without_refusal(mut self, status: StatusCode) -> Self {
        self.refusals.retain(|reason| meaning(*reason).http != status);
        self
    }

    /// Adds reasons for which the operation is refused.
    pub(super) fn refuses(mut self, reasons: &[Reason]) -> Self {
        self.refusals.extend(reasons);
        self
    }

    /// The responses of refusals, by the name of their component.
    pub(super) fn refusals(&self) -> Vec<refusal::Group> {
        refusal::groups(&self.refusals)
    }

    /// The operation as the document has it.
    pub(super) fn into_json(self) -> Json {
        let refusals = self.refusals();
        let mut responses = self.responses;
        responses.extend(refusals.iter().map(|group| (group.status, group.reference())));
        responses.sort_by_key(|(status, _)| *status);
        let responses = responses.into_iter().map(|(status, response)| (status.as_str().to_owned(), response));
        let mut json = object! {
            "operationId": self.id,
            "tags": Json::list([self.tag.name()]),
            "summary": self.summary,
            "description": self.description,
        };
        if !self.needs_token {
            json = json.with("security", Json::List(Vec::new()));
        }
        json = json.with("parameters", Json::List(self.parameters));
        if let Some(body) = self.body {
            json = json.with("requestBody", body);
        }
        json.with("responses", Json::object(responses))
    }
}
