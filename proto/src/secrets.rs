//! Hides secrets from `Debug` and `Display`.

use std::fmt;

use crate::v1::{CreateWebhookResponse, RotateWebhookSecretResponse};

/// A configured URL. `Display` and `Debug` omit the parts that can be secret: user, password, query and fragment.
#[derive(Clone)]
pub struct PrivateUrl(String);

impl PrivateUrl {
    /// Returns the whole URL, including secrets.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for PrivateUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl fmt::Display for PrivateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without a colon, the text can be a misplaced token.
        if self.0.contains(':') && !self.0.contains(['@', '?', '#']) {
            return f.write_str(&self.0);
        }
        match url::Url::parse(&self.0) {
            Ok(url) if url.has_host() => {
                write!(f, "{}://{}", url.scheme(), &url[url::Position::BeforeHost..url::Position::AfterPath])
            }
            // Any part of this text could be the password.
            _ => f.write_str("…"),
        }
    }
}

impl fmt::Debug for PrivateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl fmt::Debug for CreateWebhookResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateWebhookResponse").field("webhook", &self.webhook).finish_non_exhaustive()
    }
}

impl fmt::Debug for RotateWebhookSecretResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RotateWebhookSecretResponse").field("webhook", &self.webhook).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::PrivateUrl;

    #[test]
    fn private_urls_hide_secrets() {
        let urls = [
            ("https://user:hidden@keys.example:8443/a/b?token=hidden#hidden", "https://keys.example:8443/a/b"),
            ("https://hidden@keys.example", "https://keys.example/"),
            ("https://user:hidden@keys.example:port/", "…"),
            ("https://user:hid/den@keys.example/", "…"),
            ("user:hidden@keys.example", "…"),
            ("hidden.hidden.hidden", "…"),
            ("localhost:50051", "localhost:50051"),
            ("https://keys.example/keys", "https://keys.example/keys"),
        ];
        for (url, shown) in urls {
            let url = PrivateUrl::from(url.to_owned());
            assert_eq!((url.to_string(), format!("{url:?}")), (shown.to_owned(), format!("{shown:?}")));
        }
    }
}
