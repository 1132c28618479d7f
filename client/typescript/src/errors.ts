/** Errors of a call. */

/** A call did not succeed. */
export class ComplianceError extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** No attempt got a complete response. */
export class Unavailable extends ComplianceError {}

/** The service refused the request. */
export class Refused extends ComplianceError {
  constructor(
    /** The HTTP status. */
    readonly status: number,
    /** The result code, such as `1023`; none for violations (422), and for responses of a proxy. */
    readonly code: string | undefined,
    /** A sentence for people. */
    readonly sentence: string,
    /** Names the request in the service's logs. */
    readonly requestId: string | undefined,
  ) {
    super(`${status}: ${sentence}`);
  }
}

/**
 * The record has changed since it was read (412). Nothing was saved by this request.
 *
 * If a response was lost and the request repeated, the change itself may be what changed the record: read it again.
 */
export class Changed extends Refused {}

/** Fields violate their rules (422). Nothing was saved. */
export class Invalid extends Refused {
  constructor(
    sentence: string,
    /** Sentences by path, such as `affiliate_name`, `affiliates.3.email_one` or `per_page`. */
    readonly violations: Record<string, string[]>,
    requestId: string | undefined,
  ) {
    super(422, undefined, sentence, requestId);
  }
}
