"""The fields of headings: as the service names them, as the console shows them, and usual ones."""

import re

from ..models import AFFILIATE_FIELDS

# Names under which lists have fields that are written under other ones, and other headings.
ALIASES = {
    "clientdistributorid": "client_affiliate_id",
    "youraffiliateid": "client_affiliate_id",
    "distributorname": "affiliate_name",
    "name": "affiliate_name",
    "distributorstatus": "status",
    "affiliatestatus": "status",
    "email": "email_one",
    "phone": "phone_one",
    "company": "company_name",
    "ziporpostalcode": "zip",
    "postalcode": "zip",
    "pinterest": "pintrest",
    "internationalaffiliate": "international_distributor",
}
# Fields of lists that the service assigns.
READ_ONLY = ("id", "clientid")
# How the service itself writes headings.
EXACT = {*AFFILIATE_FIELDS, "client_distributor_id", "distributor_name", "distributor_status", "id", "client_id"}
DIGITS = {"1": "one", "2": "two", "3": "three"}
# A column without a heading, as pandas names it.
UNNAMED = re.compile(r"(?:unnamed:\s*\d+)?", re.IGNORECASE)


def letters(heading: str) -> str:
    """The letters and digits of a heading: it may be in any case, and anything may separate its words."""
    return "".join(filter(str.isalnum, heading)).lower()


FIELDS = {letters(field): field for field in AFFILIATE_FIELDS} | ALIASES


def field_of(heading: str) -> str | None:
    """The field of a heading, by its name in requests."""
    name = letters(heading)
    return FIELDS.get(name) or FIELDS.get(name[:-1] + DIGITS.get(name[-1:], ""))
