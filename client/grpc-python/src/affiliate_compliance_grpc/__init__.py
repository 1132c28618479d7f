"""A gRPC client for the Affiliate Compliance Service.

    from affiliate_compliance_grpc import Client
    from compliance.v1.urls_pb2 import GetComplianceUrlRequest

    with Client("https://core.example:50051", token) as client:
        print(client.call(GetComplianceUrlRequest(id=7)).url)
"""

from .channel import open_channel
from .client import Client, Token
from .errors import Refusal, refusal

__all__ = ["Client", "Refusal", "Token", "open_channel", "refusal"]
