"""Schemathesis hooks: rules for valid requests that JSON Schema cannot express."""

import re
from uuid import uuid4

import schemathesis
from hypothesis import strategies as st
from schemathesis.core.failures import AcceptedNegativeData

LABEL = st.from_regex(r"[a-z0-9]{1,12}", fullmatch=True)
HOST = st.lists(LABEL, min_size=1, max_size=3).map(lambda labels: ".".join([*labels, "example"]))
PATH = st.from_regex(r"(/[A-Za-z0-9._~-]{0,12}){0,3}", fullmatch=True)

# An http or https address with a host, as in the WHATWG URL standard.
schemathesis.openapi.format("url", st.builds("{}://{}{}".format, st.sampled_from(["http", "https"]), HOST, PATH))


def with_integers(body):
    """Writes a body's integers as `5` instead of `5.0`. JSON Schema treats both as equal."""
    for item in objects(body):
        for name in ("id", "max_absent", "position", "affiliate_id", "url_id", "incident_id"):
            if isinstance(item.get(name), float):
                item[name] = int(item[name])


def objects(value):
    """Yields an object and all nested objects."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner)


# For each field with a vocabulary, a name that every company's vocabulary contains.
NAMES = {
    "incident_status": "Open", "case_status": "Open", "sub_status": "Escalated", "notice_status": "Sent", "risk_level": "High",
    "infraction_type": "Trademark",
}


def with_case_work(body, is_close):
    """Fixes a case work body: existing names and times, one affiliate key, and incidents with content for their type."""
    for item in objects(body):
        for name, known in NAMES.items():
            if item.get(name) == "" and name in ("case_status", "incident_status", "infraction_type"):
                del item[name]
            elif isinstance(item.get(name), str) and item[name] != "":
                item[name] = "Closed" if is_close else known
        item.pop("infraction_name", None)
        for name in [name for name in item if name.endswith("_date") and isinstance(item[name], str) and item[name] != ""]:
            item[name] = "2026-01-31 12:00:00"
        if "request_id" not in item and item.get("client_affiliate_id"):
            item.pop("affiliate_id", None)
    for name in ("case_status", "incident_status", "disabled", "created_date", "affiliate_id", "client_affiliate_id"):
        if name in body and body[name] in (None, ""):
            del body[name]
    if "request_id" in body:
        body["incidents"] = [{"incident_type": "form", "reference": "form 1"}]
        case = body["case"]
        case["client_affiliate_id"] = "A-1"
        case.pop("affiliate_id", None)


def can_be_sent(value):
    """Returns whether Python's HTTP client can send this header value."""
    try:
        return value.isprintable() and value.encode("latin-1") is not None
    except (AttributeError, UnicodeEncodeError):
        return False


@schemathesis.hook
def before_call(context, case, kwargs):
    """Fixes requests. Every request receives headers that the client can send. A valid request receives a free name, a stored position, a past time,
    and integers without a fraction. In a valid update, the ID in the body equals the ID in the URL, and the etag matches the record."""
    for name, value in list((case.headers or {}).items()):
        if not can_be_sent(value):
            del case.headers[name]
    # The header overrides the parameter, so a request has only one of them: the invalid one, if any.
    if "lastEventId" in (case.query or {}) and LAST_EVENT_ID in (case.headers or {}):
        if VALID_POSITION.fullmatch(str(case.query["lastEventId"])):
            del case.query["lastEventId"]
        else:
            del case.headers[LAST_EVENT_ID]
    is_valid = case.meta is None or case.meta.generation.mode.is_positive
    if is_valid and LAST_EVENT_ID in (case.headers or {}):
        case.headers[LAST_EVENT_ID] = "0"
    if is_valid and case.query:
        for position in {"after", "changed_after", "lastEventId"} & set(case.query):
            case.query[position] = 0
        # Pages do not support `changed_after`.
        is_page = case.operation.path == "/api/affiliates" and len(case.query) > 1
        if is_page or case.operation.path in ("/api/urls", "/api/cases"):
            case.query.pop("changed_after", None)
        # The service rejects future times, and an `id` without a `resource`.
        case.query.pop("as_of", None)
        if not case.query.get("resource"):
            case.query.pop("id", None)
    if not is_valid or not isinstance(case.body, dict):
        return
    if "/webhooks" in case.operation.path:
        # The schema cannot know the last position.
        case.body.pop("position", None)
        if isinstance(case.body.get("url"), str):
            # The URL needs https and a host with a public address.
            case.body["url"] = "https://partner.example/compliance"
    if isinstance(case.body.get("affiliate_name"), str):
        case.body["affiliate_name"] = uuid4().hex
    with_integers(case.body)
    if case.operation.path.startswith("/api/cases") or case.method.upper() == "PATCH":
        with_case_work(case.body, case.operation.path.endswith("/close"))
        if "If-Match" in (case.headers or {}):
            case.headers["If-Match"] = "*"
    if case.method.upper() != "PUT":
        return
    # The schema cannot know a record's etag, and a batch accepts no `If-Match`.
    if (case.headers or {}).pop("If-Match", None) is not None and "affiliates" not in case.body:
        case.headers["If-Match"] = "*"
    in_path = str(case.path_parameters.get("id"))
    if "affiliates" not in case.body and isinstance(case.body.get("id"), int) and in_path.isdecimal():
        case.body["id"] = int(in_path)


REQUEST_ID = "X-Request-Id"
VALID_REQUEST_ID = re.compile(r"[!-~]{1,128}")
LAST_EVENT_ID = "Last-Event-ID"
VALID_POSITION = re.compile(r"[0-9]{1,15}")
UNKNOWN = "x-schemathesis-unknown-property"


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Ignores two kinds of failures.

    HTTP accepts unknown headers.

    The service accepts an `X-Request-Id` that does not match the pattern, and replaces it. The pattern documents the IDs that the service keeps,
    and no schema can express both. So this request passes if the rest of it is valid and the response contains a valid ID. All other checks apply."""
    if not isinstance(failure, AcceptedNegativeData) or case.meta is None:
        return True
    data = case.meta.phase.data
    negated = {data.parameter} if data.parameter else {mutation.parameter for mutation in data.mutations}
    locations = {location.name for location, component in case.meta.components.items() if component.mode.is_negative}
    headers = case.headers or {}
    # The service also ignores unknown parameters.
    known = {parameter.name for parameter in case.operation.query}
    if "QUERY" in locations and not known & set(case.query or {}):
        locations.discard("QUERY")
        negated &= {REQUEST_ID}
    # HTTP ignores an unknown header, so the request passes if its other headers are valid.
    are_known = set(headers) - {UNKNOWN, "Authorization"} <= {LAST_EVENT_ID, REQUEST_ID}
    are_valid = all(
        valid.fullmatch(headers.get(name, "0")) for name, valid in ((LAST_EVENT_ID, VALID_POSITION), (REQUEST_ID, VALID_REQUEST_ID))
    )
    if locations == {"HEADER"} and UNKNOWN in headers and are_known and are_valid:
        return False
    sent = headers.get(REQUEST_ID)
    received = response.headers.get(REQUEST_ID.lower(), [""])[0]
    is_replaced = sent is not None and received != sent and VALID_REQUEST_ID.fullmatch(received)
    return not (negated == {REQUEST_ID} and locations == {"HEADER"} and is_replaced)
