//! The keys that tokens are verified with: given by the operator, or made.

use std::path::Path;

use compliance_api::token::KeySource;
use core_server::config::TokenArgs;

use crate::secret;

/// The keys that the operator gives; none when nothing is given. An empty value is none.
pub(super) fn given(args: &TokenArgs) -> anyhow::Result<Option<KeySource>> {
    let mut source = args.key_source()?;
    source.jwks_file = source.jwks_file.filter(|path| !path.as_os_str().is_empty());
    source.jwks_url = source.jwks_url.filter(|url| !url.is_empty());
    let any = source.secret.is_some() || source.jwks_file.is_some() || source.jwks_url.is_some();
    Ok(any.then_some(source))
}

/// The secret that is kept in the data folder, made when there is none.
pub(super) fn own(data_dir: &Path) -> anyhow::Result<KeySource> {
    let kept = secret::kept_in(data_dir)?;
    if kept.made {
        tracing::info!(file = %kept.path.display(), "a secret to sign tokens with was made");
    }
    Ok(KeySource { secret: Some(kept.secret), ..KeySource::default() })
}
