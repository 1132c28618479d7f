"""Client of the Affiliate Compliance Service.

    from affiliate_compliance import Client

    with Client("http://127.0.0.1:8080", token) as client:
        for case in client.cases(case_status_id=1):
            print(case["case_id"], case["risk_level"])
"""

from .client import Client, Result
from .countries import ALPHA2, NUMERIC
from .errors import Changed, ComplianceError, Invalid, Refused, Unavailable
from .models import (
    AFFILIATE_FIELDS,
    Affiliate,
    AffiliateCreate,
    AffiliateRosterItem,
    AffiliateStatus,
    AffiliateUpdate,
    BatchSyncAffiliatesResponse,
    CaseFilters,
    Change,
    ComplianceCase,
    ComplianceUrl,
    Incident,
    Infraction,
    OverdueCase,
    Overview,
    OverviewWeek,
    UrlFilters,
    VocabularyEntry,
    VocabularyNames,
)
from .transport import Token

__all__ = [
    "AFFILIATE_FIELDS",
    "ALPHA2",
    "NUMERIC",
    "Affiliate",
    "AffiliateCreate",
    "AffiliateRosterItem",
    "AffiliateStatus",
    "AffiliateUpdate",
    "BatchSyncAffiliatesResponse",
    "CaseFilters",
    "Change",
    "Changed",
    "Client",
    "ComplianceCase",
    "ComplianceError",
    "ComplianceUrl",
    "Incident",
    "Infraction",
    "Invalid",
    "OverdueCase",
    "Overview",
    "OverviewWeek",
    "Refused",
    "Result",
    "Token",
    "Unavailable",
    "UrlFilters",
    "VocabularyEntry",
    "VocabularyNames",
]
