//! `Debug` of messages with secrets, which omits the secrets.

use std::fmt::{Debug, Formatter, Result};

use crate::v1::{CreateWebhookResponse, RotateWebhookSecretResponse};

impl Debug for CreateWebhookResponse {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("CreateWebhookResponse").field("webhook", &self.webhook).finish_non_exhaustive()
    }
}

impl Debug for RotateWebhookSecretResponse {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("RotateWebhookSecretResponse").field("webhook", &self.webhook).finish_non_exhaustive()
    }
}
