"""Verifies the receipt of an answer with the Python standard library: verify_receipt.py ANSWER RECEIPT JWKS."""

import base64
import hashlib
import json
import sys
from pathlib import Path

# NIST P-256 (FIPS 186-5)
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    if a == b:
        slope = (3 * a[0] ** 2 - 3) * pow(2 * a[1], -1, P) % P
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P) % P
    x = (slope**2 - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiply(scalar, point):
    result = None
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point, scalar = add(point, point), scalar >> 1
    return result


def is_signed(message, signature, key):
    """ES256 (RFC 7518 section 3.4): ECDSA on P-256 with SHA-256; the signature is r and s."""
    r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
    x, y = (int.from_bytes(decode(key[name]), "big") for name in ("x", "y"))
    on_curve = x < P and y < P and (y * y - x**3 + 3 * x - B) % P == 0
    if len(signature) != 64 or not (0 < r < N and 0 < s < N and on_curve):
        return False
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    point = add(multiply(digest * pow(s, -1, N) % N, G), multiply(r * pow(s, -1, N) % N, (x, y)))
    return point is not None and point[0] % N == r


def decode(text):
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != text:
        raise ValueError("not base64url")
    return data


def parse(text):
    """JSON without repeated names. A whole number such as 1.0 is written as 1, as RFC 8785 requires."""

    def members(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a name is repeated")
        return dict(pairs)

    def number(digits):
        value = float(digits)
        if "e" in repr(value) or value in (float("inf"), float("-inf")):
            raise ValueError("RFC 8785 writes this number in another way than Python")
        return int(value) if value.is_integer() else value

    return json.loads(text, object_pairs_hook=members, parse_float=number)


def digest(value):
    # RFC 8785 for ASCII names, which all answers have.
    canonical = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def verify_receipt(answer, receipt, key_set):
    """Returns the claims. Raises an exception if anything does not fit."""
    head, body, signature = receipt.split(".")
    header = parse(decode(head))
    if header["alg"] != "ES256" or header["typ"] != "payment-receipt+jwt":
        raise ValueError("not a payment receipt")
    if any(key["kid"] == header["kid"] for key in key_set["compromised"]):
        raise ValueError("the key is compromised")
    key = next(key for key in key_set["keys"] if key["kid"] == header["kid"])
    if (key["kty"], key["crv"], key["alg"], key["use"]) != ("EC", "P-256", "ES256", "sig"):
        raise ValueError("not a key for receipts")
    if not is_signed(f"{head}.{body}".encode(), decode(signature), key):
        raise ValueError("the signature is wrong")
    claims = parse(decode(body))
    if claims["answer_digest"] != digest(answer) or claims["snapshot_id"] != answer["snapshot_id"]:
        raise ValueError("the receipt is for another answer")
    if claims.get("operation", None) and digest(claims["operation"]) != claims["operation_digest"]:
        raise ValueError("the operation has another digest")
    return claims


if __name__ == "__main__":
    texts = [Path(path).read_text(encoding="utf-8").strip() for path in sys.argv[1:4]]
    print(json.dumps(verify_receipt(parse(texts[0]), texts[1], parse(texts[2])), indent=2))
