"""Bearer tokens of a configured issuer, with verified signatures; Partita only.

Flags: `--oauth-issuer`, `--oauth-audience`, `--oauth-jwks`.
"""

import base64
import json
import time

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from driver.certificate import encode_part, make_certificate
from driver.endpoint import Endpoint
from driver.server import Server
from tables import JSON_MINIMAL, Table, expect_error, expect_ok

ISSUER, AUDIENCE = "https://issuer.example/tenant", "https://tables.example"
VERSION = {"x-ms-version": "2020-12-06", "Accept": JSON_MINIMAL}
READER, CONTRIBUTOR = "Storage Table Data Reader", "Storage Table Data Contributor"


def encode(data):
    """Base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def encode_number(number, length=None):
    """A number of a key set: big-endian, as Base64url."""
    return encode(number.to_bytes(length or (number.bit_length() + 7) // 8, "big"))


class Issuer:
    """An issuer with an RSA and an EC key: the set of its public keys, and tokens that it signs."""

    def __init__(self):
        self.rsa = rsa.generate_private_key(65537, 2048)
        self.curve = ec.generate_private_key(ec.SECP256R1())

    def key_set(self):
        """The JSON Web Key Set."""
        numbers, point = self.rsa.public_key().public_numbers(), self.curve.public_key().public_numbers()
        return json.dumps({"keys": [
            {"kty": "RSA", "kid": "r", "use": "sig", "n": encode_number(numbers.n), "e": encode_number(numbers.e)},
            {"kty": "EC", "kid": "e", "use": "sig", "crv": "P-256", "x": encode_number(point.x, 32),
             "y": encode_number(point.y, 32)}]})

    def token(self, algorithm="RS256", kid=None, **claims):
        """A signed token."""
        now = int(time.time())
        full = {"iss": ISSUER, "aud": AUDIENCE, "nbf": now - 60, "iat": now - 60, "exp": now + 600, "sub": "me",
                "roles": [CONTRIBUTOR]} | claims
        head = {"typ": "JWT", "alg": algorithm, "kid": kid or {"ES256": "e"}.get(algorithm, "r")}
        text = f"{encode_part(head)}.{encode_part(full)}"
        if algorithm == "ES256":
            pair = decode_dss_signature(self.curve.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
            signature = b"".join(number.to_bytes(32, "big") for number in pair)
        elif algorithm == "none":
            signature = b""
        else:
            signature = self.rsa.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{text}.{encode(signature)}"


@pytest.fixture(scope="module")
def issuer():
    """The trusted issuer."""
    return Issuer()


@pytest.fixture(scope="module")
def verified(target, issuer, tmp_path_factory):
    """A TLS endpoint that trusts the issuer; skips servers other than Partita."""
    if target != "partita":
        pytest.skip("only Partita has these flags")
    folder = tmp_path_factory.mktemp("issuer")
    cert, key = make_certificate(folder)
    (folder / "keys.json").write_text(issuer.key_set())
    flags = ["--cert", str(cert), "--key", str(key), "--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE,
             "--oauth-jwks", str(folder / "keys.json")]
    with Server(target, options=flags) as server:
        yield Endpoint(server.url, ca_file=str(cert))


def ask(endpoint, token):
    """Lists the tables with a token."""
    return endpoint.send("GET", "/Tables", VERSION, auth="Bearer " + token)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_signed_tokens_pass(verified, issuer, algorithm):
    expect_ok(ask(verified, issuer.token(algorithm)), 200)


@pytest.mark.parametrize("claims", [
    {"iss": "https://other.example"}, {"aud": "https://storage.azure.com"}, {"exp": 1}, {"nbf": int(time.time()) + 3600},
    {"algorithm": "none"}, {"kid": "unknown"}, {"kid": "e"}])
def test_tokens_that_are_refused(verified, issuer, claims):
    answer = ask(verified, issuer.token(**claims))
    assert answer.status == 401 and answer.code, answer
    assert answer.header("WWW-Authenticate").startswith("Bearer ")


def test_keys_of_another(verified):
    assert ask(verified, Issuer().token()).status == 401


def test_every_part_is_signed(verified, issuer):
    token = issuer.token()
    head, claims, signature = token.split(".")
    longer = json.loads(base64.urlsafe_b64decode(claims + "=="))
    longer["exp"] += 1000
    for altered in (f"{head}.{encode_part(longer)}.{signature}", f"{head}.{claims}.{signature[:-4]}AAAA", f"{head}.{claims}."):
        assert ask(verified, altered).status == 401


def test_roles(verified, issuer, new_name):
    table = Table(verified, new_name(), auth="Bearer " + issuer.token(roles=[CONTRIBUTOR]))
    table.create(VERSION)
    expect_ok(table.insert("p", "r", {"A": 1}, VERSION), 201)
    reader = Table(verified, table.name, auth="Bearer " + issuer.token(roles=[READER]))
    expect_ok(reader.send("GET", f"/{table.name}()", VERSION), 200)
    expect_error(reader.insert("p", "new", None, VERSION), 403, "AuthorizationPermissionMismatch")
    unauthorized = Table(verified, table.name, auth="Bearer " + issuer.token(roles=["Cook"]))
    expect_error(unauthorized.send("GET", f"/{table.name}()", VERSION), 403, "AuthorizationPermissionMismatch")


def test_a_token_without_roles_may_do_nothing(verified, issuer):
    for roles in (None, []):
        expect_error(ask(verified, issuer.token(roles=roles)), 403, "AuthorizationPermissionMismatch")
