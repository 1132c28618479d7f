//! Requests tokens from their source, and shares them between calls.

use std::{fmt, future::Future, sync::Arc};

use futures_core::future::BoxFuture;
use tokio::sync::Mutex;
use tonic::metadata::{Ascii, MetadataValue};

use crate::{BoxError, Error};

/// A source of tokens.
///
/// Implemented for functions and closures that return a future of a token.
pub trait TokenSource: Send + Sync + 'static {
    /// Returns a token, without the `Bearer` prefix.
    ///
    /// The client requests a token before its first call, and after the service rejects a token.
    fn token(&self) -> BoxFuture<'_, Result<String, BoxError>>;
}

impl<F, R> TokenSource for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Result<String, BoxError>> + Send + 'static,
{
    fn token(&self) -> BoxFuture<'_, Result<String, BoxError>> {
        Box::pin(self())
    }
}

/// The value of the `authorization` header. `Debug` hides the token.
pub(crate) type Authorization = MetadataValue<Ascii>;

/// The current token, which a client shares with its clones.
#[derive(Clone)]
pub(crate) struct Tokens {
    source: Arc<dyn TokenSource>,
    current: Arc<Mutex<Option<Authorization>>>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl Tokens {
    pub(crate) fn new(source: impl TokenSource) -> Self {
        Self { source: Arc::new(source), current: Arc::default() }
    }

    /// Returns a token that differs from the rejected one. Concurrent calls wait for the same token.
    pub(crate) async fn other_than(&self, rejected: Option<&Authorization>) -> Result<Authorization, Error> {
        let mut current = self.current.lock().await;
        if let Some(token) = current.as_ref().filter(|token| Some(*token) != rejected) {
            return Ok(token.clone());
        }
        let token = self.source.token().await.map_err(Error::Token)?;
        let token = authorization(token.trim())?;
        *current = Some(token.clone());
        Ok(token)
    }
}

/// Returns the header for a token. Errors never contain the token.
fn authorization(token: &str) -> Result<Authorization, Error> {
    // RFC 6750
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    let invalid = if token.is_empty() {
        Some("the token is empty")
    } else if !token.bytes().all(is_allowed) {
        Some("the token is invalid: it contains a space (omit `Bearer`), a line break or another invalid character")
    } else {
        None
    };
    let mut header: Authorization = match invalid {
        Some(reason) => return Err(Error::Token(reason.into())),
        None => format!("Bearer {token}").parse().map_err(|_| Error::Token("the token is invalid".into()))?,
    };
    header.set_sensitive(true);
    Ok(header)
}
