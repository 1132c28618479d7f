//! Requests and their operations.

/// A request of an operation. Its type names the operation: `GetAffiliateRequest` is that of `AffiliateService.GetAffiliate`.
pub trait Request: prost::Message + Clone + 'static {
    /// The response, or a message of a stream of them.
    type Response: prost::Message + Default + 'static;
    /// `/package.Service/Operation`.
    const PATH: &'static str;
}

/// A request of an operation that has one response.
pub trait UnaryRequest: Request {}
