/** Errors that calls throw. */

/** A call failed. */
export class ComplianceError extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No attempt received a complete response. */
export class Unavailable extends ComplianceError {}

/** The service rejected the request. */
export class Refused extends ComplianceError {
  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** The result code, such as `1023`. Undefined for violations (422) and for a proxy's responses. */
    readonly code: string | undefined,
    /** The error, as a sentence. */
    readonly sentence: string,
    /** The request's ID in the service's logs. */
    readonly requestId: string | undefined,
    /** The response's `detail`, such as the `case_id` of an open case. Empty for violations (422) and for a proxy's responses. */
    readonly detail: Readonly<Record<string, unknown>> = {},
  ) {
    super(`${status}: ${sentence}`);
  }
}

/**
 * The record has changed since it was read (412). This request saved nothing.
 *
 * If a response was lost, an earlier attempt may have changed the record. Read the record again.
 */
export class Changed extends Refused {}

/** Some fields are invalid (422). Nothing was saved. */
export class Invalid extends Refused {
  constructor(
    sentence: string,
    /** Messages by path, such as `affiliate_name`, `affiliates.3.email_one` or `per_page`. */
    readonly violations: Record<string, string[]>,
    requestId: string | undefined,
  ) {
    super(422, undefined, sentence, requestId);
  }
}
