//! Who may call, and how often: token, rate limit and scope, checked before the request itself is looked at.

mod limit;
mod policy;
mod service;

pub(crate) use limit::Limiter;
pub use limit::{RateLimit, RateLimitError};
pub use policy::Caller;
pub(crate) use policy::{AccessPolicy, Denied, Granted};
pub(crate) use service::Access;
