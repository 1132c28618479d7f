"""Generates src/affiliate_compliance/models.py, the request and response types in docs/openapi.json.

    python3 client/python/generate_models.py

With `--check`, changes nothing, and exits with status 1 if the file is out of date.
"""

import json
import keyword
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
DOCUMENT = FOLDER / "../../docs/openapi.json"
MODELS = FOLDER / "src/affiliate_compliance/models.py"

HEADER = '''"""The interface's records and inputs, as in JSON. Generated from docs/openapi.json by generate_models.py."""

from typing import Literal, NotRequired, TypedDict
'''
# Also generates the schemas that these use. The client defines its own types for results and errors.
ROOTS = ("Affiliate", "AffiliateCreate", "AffiliateUpdate", "ComplianceUrl", "ComplianceCase", "Overview", "VocabularyNames", "Change",
         "AffiliateRosterItem", "BatchSyncAffiliatesResponse", "EraseAffiliateResponse", "UrlInput", "UrlReview", "CaseOpen", "CaseUpdate", "CaseResolve",
         "CaseClose", "CaseReopen", "IncidentItem", "IncidentKey", "Webhook", "WebhookCreate", "WebhookUpdate", "CreateWebhookResponse",
         "TestWebhookResponse", "WebhookDelivery")
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "dict[str, object]"}
# Parameters that the client sets to read all pages.
PAGING = {"sort_by", "sort_dir", "per_page", "page"}


def python_type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[1])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(python_type(part) for part in schema["anyOf"] if not is_empty_text(part)))
    if "enum" in schema:
        return "Literal[" + ", ".join(json.dumps(value) for value in schema["enum"]) + "]"
    if "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
    if schema.get("type") == "array":
        return f"list[{python_type(schema['items'])}]"
    types = schema.get("type", "object")
    return " | ".join(SCALARS[name] for name in ([types] if isinstance(types, str) else types))


def is_empty_text(schema: dict[str, Any]) -> bool:
    """Returns whether the schema only allows `""`, which is the same as null for an optional field."""
    return schema.get("maxLength") == 0 or schema.get("const") == ""


def typed_dict(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    if any(keyword.iskeyword(field) for field in schema["properties"]):
        return functional(name, schema, required)
    lines = [f"class {name}(TypedDict):"]
    if description := schema.get("description"):
        lines += [f'    """{description}"""', ""]
    for field, of_field in schema["properties"].items():
        lines.append(f"    {field}: {field_type(of_field, field in required)}")
        if description := of_field.get("description"):
            lines.append(f'    """{description}"""')
    return "\n".join(lines)


def functional(name: str, schema: dict[str, Any], required: list[str]) -> str:
    """Defines the type with a call, because class fields cannot have the name of a keyword, such as `from`."""
    lines = [f'{name} = TypedDict("{name}", {{']
    for field, of_field in schema["properties"].items():
        if description := of_field.get("description"):
            lines.append(f"    # {description}")
        lines.append(f'    "{field}": {field_type(of_field, field in required)},')
    lines.append("})")
    if description := schema.get("description"):
        lines.append(f'"""{description}"""')
    return "\n".join(lines)


def field_type(schema: dict[str, Any], is_required: bool) -> str:
    kind = python_type(schema)
    return kind if is_required else f"NotRequired[{kind}]"


def filters(name: str, operation: dict[str, Any]) -> str:
    properties = {
        parameter["name"]: {**parameter["schema"], "description": parameter["description"]}
        for parameter in operation["parameters"]
        if parameter.get("in") == "query" and parameter["name"] not in PAGING
    }
    return typed_dict(name, {"properties": properties})


def models(document: dict[str, Any]) -> str:
    schemas = document["components"]["schemas"]
    names: dict[str, None] = {}
    for root in (*ROOTS, "YesNo"):
        add(root, schemas, names)
    parts = [
        typed_dict(name, schemas[name]) if "properties" in schemas[name] else f"{name} = {python_type(schemas[name])}" for name in names
    ]
    parts.append(filters("AffiliateFilters", document["paths"]["/api/affiliates"]["get"]))
    parts.append(filters("UrlFilters", document["paths"]["/api/urls"]["get"]))
    parts.append(filters("CaseFilters", document["paths"]["/api/cases"]["get"]))
    lengths = {field: max_length(schema) for field, schema in schemas["AffiliateCreate"]["properties"].items()}
    lines = [f'    "{field}": {length},' for field, length in lengths.items()]
    parts.append("AFFILIATE_FIELDS: dict[str, int | None] = {\n" + "\n".join(lines) + "\n}\n"
                 '"""Writable affiliate fields, with their maximum lengths in characters."""')
    return HEADER + "\n\n" + "\n\n\n".join(parts) + "\n"


def add(name: str, schemas: dict[str, Any], names: dict[str, None]) -> None:
    """Adds a schema after the schemas that it uses."""
    for used in references(schemas[name]):
        add(used, schemas, names)
    names[name] = None


def references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [python_type(schema)] if "$ref" in schema else []
        return own + [name for part in schema.values() for name in references(part)]
    return [name for part in schema for name in references(part)] if isinstance(schema, list) else []


def max_length(schema: dict[str, Any]) -> int | None:
    lengths = [part.get("maxLength") for part in [schema, *schema.get("anyOf", [])]]
    return max((length for length in lengths if length), default=None)


def main() -> int:
    text = models(json.loads(DOCUMENT.read_text(encoding="utf-8")))
    if sys.argv[1:] == ["--check"]:
        is_same = MODELS.read_text(encoding="utf-8") == text
        if not is_same:
            print(f"{MODELS} is out of date: run client/python/generate_models.py", file=sys.stderr)
        return 0 if is_same else 1
    MODELS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
