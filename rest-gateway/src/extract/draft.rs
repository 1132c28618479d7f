//! A request that is put together from a body, a query, a path and headers, with everything that it violates.

use compliance_api::{
    error::Error,
    rules::{self, Check, Violations},
};
use prost::Message;

use super::{
    json::Scalar,
    object::{Object, Value},
};
use crate::{path::PathId, tags::IfMatch};

pub(crate) struct Draft<'de> {
    object: Object<'de>,
    violations: Violations,
}

impl<'de> Draft<'de> {
    pub(super) fn new(object: Object<'de>, violations: Violations) -> Self {
        Self { object, violations }
    }

    /// A request without a body and a query.
    pub(crate) fn empty<M: Check>() -> Self {
        Self::new(Object::new(M::MESSAGE), Violations::new())
    }

    /// Adds the etags that the record must have.
    pub(crate) fn if_match(mut self, if_match: &IfMatch) -> Self {
        let etag = if_match.etag(&mut self.violations);
        if !etag.is_empty() {
            self.object.set("etag", Value::text(etag));
        }
        self
    }

    /// Returns the message.
    pub(crate) fn message<M: Check + Message + Default>(self) -> Result<M, Error> {
        self.wrapped(|message: M| message)
    }

    /// Returns the request that holds the message.
    pub(super) fn wrapped<M: Message + Default, R: Check>(self, wrap: impl FnOnce(M) -> R) -> Result<R, Error> {
        accept(self.violations, wrap(self.object.message()?))
    }

    /// Returns the message about the record of a path. Other violations come before an ID that no record can have.
    pub(crate) fn of_record<M: Check + Message + Default>(
        mut self,
        path: &PathId,
        not_found: fn(String) -> Error,
    ) -> Result<M, Error> {
        if let Some(id) = path.possible() {
            self.object.set("id", Value::Scalar(Scalar::Integer(id)));
        }
        let message = self.message()?;
        path.record_id_after(&message, not_found)?;
        Ok(message)
    }
}

/// Returns the message, or all violations including violations of the rules.
pub(super) fn accept<M: Check>(mut violations: Violations, message: M) -> Result<M, Error> {
    if violations.is_empty() {
        return Ok(message);
    }
    violations.merge(rules::check(&message));
    Err(Error::invalid(violations))
}
