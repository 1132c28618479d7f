"""Manages webhooks, which receive the company's changes. The token needs the scope `webhooks`."""

import builtins

from .calls import Calls
from .models import CreateWebhookResponse, TestWebhookResponse, Webhook, WebhookCreate, WebhookDelivery, WebhookUpdate


class Webhooks(Calls):
    def list(self) -> builtins.list[Webhook]:
        webhooks: builtins.list[Webhook] = self._get("/api/webhooks")
        return webhooks

    def read(self, id: int) -> Webhook:
        webhook: Webhook = self._get(f"/api/webhooks/{id}")
        return webhook

    def create(self, webhook: WebhookCreate) -> CreateWebhookResponse:
        """Returns the webhook with its secret. You cannot read the secret later."""
        created: CreateWebhookResponse = self._write("POST", "/api/webhooks", webhook)[0]["data"]
        return created

    def update(self, id: int, change: WebhookUpdate) -> Webhook:
        """Changes the fields in `change`."""
        webhook: Webhook = self._write("PUT", f"/api/webhooks/{id}", change)[0]["data"]
        return webhook

    def delete(self, id: int) -> None:
        self._write("DELETE", f"/api/webhooks/{id}")

    def rotate_secret(self, id: int) -> CreateWebhookResponse:
        """Creates a new secret. For a day, the service also signs messages with the previous secret."""
        rotated: CreateWebhookResponse = self._write("POST", f"/api/webhooks/{id}/secret")[0]["data"]
        return rotated

    def test(self, id: int) -> TestWebhookResponse:
        """Sends a test message, and returns its result."""
        tested: TestWebhookResponse = self._write("POST", f"/api/webhooks/{id}/test")[0]["data"]
        return tested

    def deliveries(self, id: int, limit: int | None = None) -> builtins.list[WebhookDelivery]:
        """Returns the latest delivery attempts, newest first. `limit` is 100 by default."""
        deliveries: builtins.list[WebhookDelivery] = self._get(f"/api/webhooks/{id}/deliveries", {"limit": limit})
        return deliveries
