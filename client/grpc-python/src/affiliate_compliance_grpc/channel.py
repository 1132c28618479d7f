"""Opens connections to the service."""

from pathlib import Path

import grpc

OPTIONS = [
    # Keepalive detects a lost connection after 40 seconds.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.max_receive_message_length", 64 << 20),
    # By default, gRPC waits up to two minutes, but a service restarts faster.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 5_000),
]


def open_channel(
    target: str, *, ca: str | Path | None = None, certificate: str | Path | None = None, key: str | Path | None = None
) -> grpc.Channel:
    """Returns a channel to `host:port` or `https://host:port`, for the generated stubs.

    `ca` is a PEM file with the CA certificates to trust instead of gRPC's defaults. For mutual TLS, `certificate` and `key` are PEM files
    with the client's certificate and its key. Raises ValueError if every call would fail with these settings.
    """
    scheme, _, address = target.strip().rpartition("://")
    address = address.rstrip("/")
    if scheme not in ("", "http", "https") or "/" in address:
        raise ValueError(f"{target} is neither host:port nor https://host:port")
    if scheme != "https":
        if ca or certificate or key:
            raise ValueError(f"certificates need https, but the service is at {target}")
        return grpc.insecure_channel(address, OPTIONS)
    if bool(certificate) != bool(key):
        raise ValueError("certificate and key must be set together")
    credentials = grpc.ssl_channel_credentials(pem(ca), pem(key), pem(certificate))
    return grpc.secure_channel(address, credentials, OPTIONS)


def pem(path: str | Path | None) -> bytes | None:
    if not path:
        return None
    content = Path(path).read_bytes()
    if b"-----BEGIN " not in content:
        raise ValueError(f"{path} is not a PEM file")
    return content
