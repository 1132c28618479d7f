//! Who calls, and how often: token, scope and rate limit, before any look at the request itself.

mod layer;
mod limit;
mod service;

pub use layer::{AccessLayer, Caller};
pub(crate) use limit::Limiter;
pub use limit::{RateLimit, RateLimitError};
pub(crate) use service::Access;
