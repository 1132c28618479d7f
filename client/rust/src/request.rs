//! Requests and their operations.

/// A request of an operation.
///
/// The type names the operation: `GetAffiliateRequest` calls `AffiliateService.GetAffiliate`.
pub trait Request: prost::Message + Clone + 'static {
    /// The response, or a message of the response stream.
    type Response: prost::Message + Default + 'static;
    /// `/package.Service/Operation`.
    const PATH: &'static str;
}

/// A request of an operation with one response.
pub trait UnaryRequest: Request {}
