//! A route as data: for its documentation, for its metrics, and for what of a query it reads.

use compliance_api::{
    description::{Field, Kind, Message},
    rules::Check as _,
    v1::ListChangesRequest,
};

/// Where clients of events that cannot set headers have the position of the last one.
pub(crate) const LAST_EVENT_PARAMETER: &str = "lastEventId";

/// A route, for its documentation.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// In lower case.
    pub method: &'static str,
    /// Its path, with its parameters in braces.
    pub path: &'static str,
    /// Its handler, `module::function` in `routes`.
    pub handler: &'static str,
    /// The requests whose fields are the parameters of its query.
    pub query: &'static [&'static Message],
}

impl Route {
    /// Whether the operation has a parameter of this name.
    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        let is_of_events =
            name == LAST_EVENT_PARAMETER && self.query.iter().any(|it| it.name == ListChangesRequest::MESSAGE.name);
        is_of_events || self.query.iter().any(|message| message.field(name).is_some_and(is_parameter))
    }
}

/// Whether a field of a request is a parameter of its query. An ID that a request must have is in its path, and whole lists begin at their
/// beginning.
pub(crate) fn is_parameter(field: &Field) -> bool {
    field.name != "after_id" && (field.may_be_absent || !matches!(field.kind, Kind::Integer(_)))
}
