"""A client for the Affiliate Compliance Service.

    from affiliate_compliance import Client

    with Client("http://127.0.0.1:8080", token) as client:
        for case in client.cases(case_status_id=1):
            print(case["case_id"], case["risk_level"])
"""

from .calls import Result
from .client import Client
from .countries import ALPHA2, NUMERIC
from .errors import Changed, ComplianceError, Invalid, Refused, Unavailable
from .models import (
    AFFILIATE_FIELDS,
    Affiliate,
    AffiliateCreate,
    AffiliateFilters,
    AffiliateRosterItem,
    AffiliateStatus,
    AffiliateUpdate,
    BatchSyncAffiliatesResponse,
    CaseClose,
    CaseFilters,
    CaseOpen,
    CaseReopen,
    CaseResolve,
    CaseUpdate,
    Change,
    ComplianceCase,
    ComplianceUrl,
    CreateWebhookResponse,
    EraseAffiliateResponse,
    Incident,
    IncidentItem,
    IncidentKey,
    Infraction,
    OverdueCase,
    Overview,
    OverviewWeek,
    TestWebhookResponse,
    UrlFilters,
    UrlInput,
    UrlReview,
    VocabularyEntry,
    VocabularyNames,
    Webhook,
    WebhookCreate,
    WebhookDelivery,
    WebhookUpdate,
)
from .transport import Token
from .webhooks import Webhooks

__all__ = [
    "AFFILIATE_FIELDS",
    "ALPHA2",
    "NUMERIC",
    "Affiliate",
    "AffiliateCreate",
    "AffiliateFilters",
    "AffiliateRosterItem",
    "AffiliateStatus",
    "AffiliateUpdate",
    "BatchSyncAffiliatesResponse",
    "CaseClose",
    "CaseFilters",
    "CaseOpen",
    "CaseReopen",
    "CaseResolve",
    "CaseUpdate",
    "Change",
    "Changed",
    "Client",
    "ComplianceCase",
    "ComplianceError",
    "ComplianceUrl",
    "CreateWebhookResponse",
    "EraseAffiliateResponse",
    "Incident",
    "IncidentItem",
    "IncidentKey",
    "Infraction",
    "Invalid",
    "OverdueCase",
    "Overview",
    "OverviewWeek",
    "Refused",
    "Result",
    "TestWebhookResponse",
    "Token",
    "Unavailable",
    "UrlFilters",
    "UrlInput",
    "UrlReview",
    "VocabularyEntry",
    "VocabularyNames",
    "Webhook",
    "WebhookCreate",
    "WebhookDelivery",
    "WebhookUpdate",
    "Webhooks",
]
