/** Manages webhooks, which receive the company's changes. The token needs the `webhooks` scope. */

import { Calls } from "./calls.js";
import type { Webhook, WebhookCreate, WebhookDelivery, WebhookTest, WebhookUpdate, WebhookWithSecret } from "./records.js";

export class Webhooks extends Calls {
  list(): Promise<Webhook[]> {
    return this.get("/api/webhooks");
  }

  read(id: number): Promise<Webhook> {
    return this.get(`/api/webhooks/${id}`);
  }

  /** Returns the webhook with its secret. You cannot read the secret later. */
  create(webhook: WebhookCreate): Promise<WebhookWithSecret> {
    return this.send("POST", "/api/webhooks", webhook);
  }

  /** Changes the fields in `change`. */
  update(id: number, change: WebhookUpdate): Promise<Webhook> {
    return this.send("PUT", `/api/webhooks/${id}`, change);
  }

  async delete(id: number): Promise<void> {
    await this.write("DELETE", `/api/webhooks/${id}`);
  }

  /** Creates a new secret. For a day, the service also signs messages with the previous secret. */
  rotateSecret(id: number): Promise<WebhookWithSecret> {
    return this.send("POST", `/api/webhooks/${id}/secret`);
  }

  /** Sends a test message, and returns its result. */
  test(id: number): Promise<WebhookTest> {
    return this.send("POST", `/api/webhooks/${id}/test`);
  }

  /** Returns the latest delivery attempts, newest first. `limit` is 100 by default. */
  deliveries(id: number, limit?: number): Promise<WebhookDelivery[]> {
    return this.get(`/api/webhooks/${id}/deliveries`, { limit });
  }
}
