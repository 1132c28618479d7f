//! Tokens, and where they come from.

use std::{fmt, future::Future, sync::Arc};

use futures_core::future::BoxFuture;
use tokio::sync::Mutex;
use tonic::metadata::{Ascii, MetadataValue};

use crate::{BoxError, Error};

/// Where tokens come from. Closures and functions that return a future of a token are sources.
pub trait TokenSource: Send + Sync + 'static {
    /// A token, without `Bearer`. It is asked for before the first call, and when the service has refused the last one.
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

/// The value of the header `authorization`. Its debug output hides the token.
pub(crate) type Authorization = MetadataValue<Ascii>;

/// The current token of a client and its clones.
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

    /// A token other than the one that was refused, if any was. Calls that need one at the same time wait for the same.
    pub(crate) async fn other_than(&self, refused: Option<&Authorization>) -> Result<Authorization, Error> {
        let mut current = self.current.lock().await;
        if let Some(token) = current.as_ref().filter(|token| Some(*token) != refused) {
            return Ok(token.clone());
        }
        let token = self.source.token().await.map_err(Error::Token)?;
        let mut token: Authorization = format!("Bearer {token}")
            .parse()
            .map_err(|_| Error::Token("the token has characters that a header cannot have".into()))?;
        token.set_sensitive(true);
        *current = Some(token.clone());
        Ok(token)
    }
}
