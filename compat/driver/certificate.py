"""A throw-away certificate for TLS cases, and a token for `--oauth basic`."""

import base64
import json
import pathlib
import subprocess
import time

NAMES = "DNS:localhost,DNS:*.table.localhost,IP:127.0.0.1,IP:::1"


def make_certificate(folder):
    """Writes a self-signed certificate and its key as PEM files; returns both paths.

    The certificate is its own authority: a client trusts it if it is the client's CA file.
    """
    cert, key = pathlib.Path(folder) / "cert.pem", pathlib.Path(folder) / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-addext", f"subjectAltName={NAMES}",
         "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True)
    return cert, key


def encode_part(data):
    """One part of a JWT: JSON as Base64url without padding."""
    return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()


def make_token(**claims):
    """A bearer token with the claims that Azurite's basic mode checks; its signature is invalid."""
    now = int(time.time())
    full = {
        "iss": "https://sts.windows.net/11111111-2222-3333-4444-555555555555/",
        "aud": "https://storage.azure.com",
        "iat": now - 60, "nbf": now - 60, "exp": now + 3600,
        "oid": "11111111-2222-3333-4444-555555555555", "ver": "1.0",
    } | claims
    full = {name: value for name, value in full.items() if value is not None}
    return ".".join([encode_part({"typ": "JWT", "alg": "RS256", "kid": "none"}), encode_part(full), "c2lnbmF0dXJl"])
