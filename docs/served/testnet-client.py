# /// script
# requires-python = ">=3.10"
# dependencies = ["cryptography>=38", "eth-account>=0.13", "httpx>=0.23"]
# ///
"""Buys the record of the synthetic company 00000000 with test money (x402 v2).

The program gets a quote, signs one EIP-3009 authorization for it, only ever for test USDC on Base Sepolia, and writes
the payment to a file before it sends it. While the outcome is unknown, it sends the same payment again, which can be
charged only once. It never signs a second one: after it gives up, --retry FILE sends the payment in the file.
The bought record goes to stdout as JSON, everything else to stderr.

exit codes:
  0  bought
  1  certainly not sold: stopped before a payment was sent
  2  invalid arguments
  4  outcome unknown, or a receipt that is wrong or cannot be checked: keep the file, and run again with --retry
  6  refused by the service: not sold, certain when the payment has ended
"""

import argparse
import base64
import hashlib
import json
import os
import re
import secrets
import sys
import time
from pathlib import Path

import httpx
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.hashes import SHA256
from eth_account import Account

BASE_URL = "http://127.0.0.1:4021"  # filled in by the service that serves this file
DONE, NOTHING_SENT, UNKNOWN, REFUSED = 0, 1, 4, 6

LOOKUP_PATH = "/api/v1/company/00000000"
NETWORK = "eip155:84532"  # Base Sepolia
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"  # test USDC, from Circle's list of contracts
DOMAIN = {"name": "USDC", "version": "2", "chainId": 84532, "verifyingContract": USDC}
FIELDS = {"from": "address", "to": "address", "value": "uint256"}
FIELDS |= {"validAfter": "uint256", "validBefore": "uint256", "nonce": "bytes32"}
TYPES = {"TransferWithAuthorization": [{"name": name, "type": kind} for name, kind in FIELDS.items()]}
AMOUNT_MAX = 1_000_000  # micro-USDC: one test USDC, a thousand times the usual price
LIFETIME_SECONDS_MAX = 600  # limits how long a leaked payment is usable

BODY_BYTES_MAX = 1024 * 1024
TIMEOUT_SECONDS = 120  # for a whole answer: verification, settlement and reads of the chain take up to 90 s
REQUESTS_MAX = 7
WAIT_SECONDS, WAIT_SECONDS_MAX = 2, 60  # without a Retry-After header, and the longest one that is followed
CLOCK_SKEW_SECONDS = 60  # how far this clock may be ahead of the chain

# After these answers the outcome is unknown, and the same payment is sent again.
REPEATED_STATUSES = {429, 500, 502, 503, 504}
# These answers mean "not charged" if they have an error of the service, but for two errors that say it is settled.
REFUSAL_STATUSES = {400, 402, 404, 405, 409, 413, 415}
SETTLED_ERRORS = {"payment_already_settled", "payment_replay_conflict"}


def say(line: str) -> None:
    """Escapes everything but printable ASCII, because the text may come from the service."""
    print(line.encode("unicode_escape").decode(), file=sys.stderr, flush=True)


def send(url: str, payment: str | None = None) -> tuple[int, str, httpx.Headers]:
    """Raises httpx.HTTPError without a complete answer. The request may have reached the service."""
    headers = {"Accept-Encoding": "identity", **({"PAYMENT-SIGNATURE": payment} if payment else {})}
    body, end = b"", time.monotonic() + TIMEOUT_SECONDS
    with httpx.Client(trust_env=False, follow_redirects=False, timeout=TIMEOUT_SECONDS) as client:
        with client.stream("GET", url, headers=headers) as response:
            for part in response.iter_raw():
                body += part
                if len(body) > BODY_BYTES_MAX or time.monotonic() > end:
                    raise httpx.HTTPError("the answer is too long or too slow")
            return response.status_code, body.decode(errors="replace"), response.headers


def decode_header(header: str) -> dict:
    return json.loads(base64.b64decode(header, validate=True))


def fetch_quote(origin: str) -> dict:
    """Returns the quote if it has the terms that this program signs."""
    status, _, headers = send(origin + LOOKUP_PATH)
    if status != 402:
        raise ValueError(f"HTTP {status} is not a quote")
    quote = decode_header(headers["PAYMENT-REQUIRED"])
    terms = quote["accepts"][0]
    checks = {
        "version": quote["x402Version"] == 2,
        "resource": quote["resource"]["url"] == origin + LOOKUP_PATH,
        "scheme": terms["scheme"] == "exact",
        "network": terms["network"] == NETWORK,
        "asset": terms["asset"].lower() == USDC.lower(),
        "token": (terms["extra"]["name"], terms["extra"]["version"]) == (DOMAIN["name"], DOMAIN["version"]),
        "amount": 0 < int(terms["amount"]) <= AMOUNT_MAX,
        "lifetime": 0 < terms["maxTimeoutSeconds"] <= LIFETIME_SECONDS_MAX,
    }
    if not all(checks.values()):
        raise ValueError(f"the quote has a wrong {', '.join(name for name, holds in checks.items() if not holds)}")
    say(f"quote: {terms['amount']} micro-USDC to {terms['payTo']}")
    return quote


def prepare_purchase(origin: str, key_file: str) -> str:
    """Signs a payment, and returns the path of the file that has it."""
    key = Path(key_file).read_text(encoding="latin-1").strip()
    if not re.fullmatch("0x(?!0{64})[0-9a-fA-F]{64}", key):
        raise ValueError(f"{key_file} is not a file with a private key (0x and 64 hex digits)")
    account = Account.from_key(key)
    quote = fetch_quote(origin)
    terms = quote["accepts"][0]
    authorization = {
        "from": account.address,
        "to": terms["payTo"],
        "value": terms["amount"],
        "validAfter": "0",
        "validBefore": str(int(time.time()) + terms["maxTimeoutSeconds"]),
        "nonce": "0x" + secrets.token_hex(32),
    }
    signature = account.sign_typed_data(DOMAIN, TYPES, authorization).signature
    # Without a random id, anyone could rebuild the payment from what the chain shows, and fetch the answer.
    identifier = quote["extensions"]["payment-identifier"]
    named = {**identifier, "info": {**identifier["info"], "id": secrets.token_hex(16)}}
    extensions = {**quote["extensions"], "payment-identifier": named}
    payload = {"signature": "0x" + bytes(signature).hex(), "authorization": authorization}
    repeated = {"resource": quote["resource"], "accepted": terms, "extensions": extensions}
    payment = {"x402Version": 2, "payload": payload, **repeated}
    purchase = {
        "request": {"method": "GET", "url": origin + LOOKUP_PATH, "headers": {}, "body": None},
        "payment": base64.b64encode(json.dumps(payment).encode()).decode(),
        "quote": quote,
        "signed_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "answer": None,
    }
    path = f"payment-{authorization['nonce']}.json"
    write_purchase(path, purchase)
    say(f"signed one payment from {account.address}, stored in {path}")
    return path


def write_purchase(path: str, purchase: dict) -> None:
    """Writes the file as a whole or not at all, readable by its owner only."""
    with open(os.open(f"{path}.draft", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(purchase, file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.draft", path)
    if os.name == "posix":  # the name in the folder too, before the payment is sent
        os.fsync(os.open(os.path.dirname(path) or ".", os.O_RDONLY))


def pay(path: str, purchase: dict) -> int:
    """Sends a stored payment until its outcome is known, and stores the answer. Any error is an unknown outcome."""
    authorization = decode_header(purchase["payment"])["payload"]["authorization"]
    status, body, headers = send_until_decided(purchase["request"]["url"], purchase["payment"])
    response = headers.get("PAYMENT-RESPONSE")
    stored, received = purchase["answer"], {"status": status, "body": body, "payment_response": response}
    if stored and stored["status"] == 200 and stored != received:
        raise ValueError("THE ANSWER DIFFERS FROM THE STORED ONE, which is kept")
    content = json.loads(body)
    if status in REFUSAL_STATUSES:
        code = content["error"]["code"]
        if code in SETTLED_ERRORS:
            raise ValueError(f"{code}: the service has settled this payment; contact the operator")
        write_purchase(path, {**purchase, "answer": received})
        end = int(authorization["validBefore"]) + CLOCK_SKEW_SECONDS
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))
        say(f"{code}: not sold, certain from {until} on; other purchases are safe meanwhile")
        return REFUSED
    settlement = decode_header(response)
    if status != 200 or settlement["success"] is not True or settlement["network"] != NETWORK:
        raise ValueError("neither a bought answer nor a refusal")
    write_purchase(path, {**purchase, "answer": received})
    say(f"paid in transaction {settlement['transaction']}; answer and receipt are in {path}")
    print(json.dumps(content, indent=2), flush=True)
    check_receipt(purchase["request"]["url"].removesuffix(LOOKUP_PATH), content, settlement, authorization["nonce"])
    say("the receipt is signed by the service and fits the answer and the payment")
    return DONE


def send_until_decided(url: str, payment: str) -> tuple[int, str, httpx.Headers]:
    for _ in range(REQUESTS_MAX):
        wait = WAIT_SECONDS
        try:
            status, body, headers = send(url, payment)
            say(f"HTTP {status}")
            if status not in REPEATED_STATUSES:
                return status, body, headers
            wait = int(headers.get("Retry-After", wait))
        except httpx.HTTPError as cause:
            say(f"no answer: {cause!r}")
        if wait > WAIT_SECONDS_MAX:
            raise ValueError(f"the service asks to wait {wait} s")
        say(f"sending the same payment again in {wait} s")
        time.sleep(wait)
    raise ValueError("the outcome is still unknown")


def check_receipt(origin: str, content: dict, settlement: dict, nonce: str) -> None:
    """Raises an error if the receipt (a JWS with ES256, RFC 7518 section 3.4) is not signed or states another fact."""
    head, body, signature = settlement["extensions"]["payment-receipt"]["info"]["receipt"].split(".")
    keys = json.loads(send(origin + "/.well-known/jwks.json")[1])
    kid = json.loads(base64url(head))["kid"]
    key = next(key for key in keys["keys"] if key["kid"] == kid)
    if any(key["kid"] == kid for key in keys["compromised"]):
        raise ValueError("the key of the receipt is marked as compromised")
    x, y = (int.from_bytes(base64url(key[name]), "big") for name in ("x", "y"))
    r, s = (int.from_bytes(half, "big") for half in (base64url(signature)[:32], base64url(signature)[32:]))
    public_key = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    public_key.verify(utils.encode_dss_signature(r, s), f"{head}.{body}".encode(), ec.ECDSA(SHA256()))
    claims = json.loads(base64url(body))
    # RFC 8785, for answers without numbers and with names in ASCII, as these are.
    canonical = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    digest = "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()
    stated = (claims["iss"], claims["answer_digest"], claims["payment"]["nonce"], claims["payment"]["transaction"])
    if stated != (origin, digest, nonce, settlement["transaction"]):
        raise ValueError("THE RECEIPT IS WRONG: it is of another answer or payment")


def base64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command = parser.add_mutually_exclusive_group(required=True)
    command.add_argument("--key-file", metavar="FILE", help="buy with the private key in this file")
    command.add_argument("--retry", metavar="FILE", help="send the payment in this file again")
    parser.add_argument("--url", default=BASE_URL, help=f"the service (default: {BASE_URL})")
    options = parser.parse_args()
    try:
        path = options.retry or prepare_purchase(options.url.rstrip("/"), options.key_file)
        purchase = json.loads(Path(path).read_text(encoding="utf-8"))
        if not purchase["request"]["url"].endswith(LOOKUP_PATH):
            raise ValueError(f"{path} is not a purchase of company 00000000")
    except Exception as cause:
        say(f"nothing was sent: {type(cause).__name__}: {cause}")
        return NOTHING_SENT
    try:
        return pay(path, purchase)
    except (Exception, KeyboardInterrupt) as cause:
        say(f"{type(cause).__name__}: {cause}; do not sign another payment: send this one again with --retry {path}")
        return UNKNOWN


if __name__ == "__main__":
    sys.exit(main())
