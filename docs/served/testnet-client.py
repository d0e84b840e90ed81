#!/usr/bin/env python3
"""Buys the record of the synthetic company 00000000 with test money and prints every step.

The payment protocol is x402 v2. The first request gets a quote. The program signs one EIP-3009
authorization for the quote and repeats the same request with it. It signs only for test USDC on
Base Sepolia, whatever the quote says.

The program writes the payment to a file before it sends it. While the outcome is unknown, it
repeats the same request with the same payment, which can be charged only once. It never signs a
second payment. After it gives up, --retry FILE repeats the request with the payment in the file.

Progress goes to stderr, the bought record to stdout as JSON. In printed text of the service,
everything except printable ASCII is escaped. The program needs only Python 3.9 or later, connects
without a proxy and follows no redirects.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import hmac
import http.client
import json
import os
import re
import secrets
import socket
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple, Optional
from urllib.parse import urlsplit

BASE_URL = "http://127.0.0.1:4021"  # filled in by the service that serves this file

EXIT_CODES = """exit codes:
  0  bought; with --print-quote: the quote is valid
  1  certainly not sold: stopped before a payment was sent
  2  invalid arguments
  4  outcome unknown, or a wrong answer or receipt: keep the payment file, and run again with --retry
  6  refused by the service: not sold, certain when the payment has ended
"""
DONE, NOTHING_SENT, UNKNOWN, REFUSED = 0, 1, 4, 6  # as the commands of the service

# USDC on Base Sepolia, from Circle's list of contracts, and its EIP-712 domain.
NETWORK = "eip155:84532"
CHAIN_ID = 84532
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
USDC_NAME = "USDC"
USDC_VERSION = "2"

# The resource to buy, and the metadata to check the quote against.
LOOKUP_ROUTE = "/api/v1/company"
LOOKUP_PATH = LOOKUP_ROUTE + "/00000000"
META_PATH = "/api/v1/meta"
KEYS_PATH = "/.well-known/jwks.json"

AMOUNT_MAX = 1_000_000  # micro-USDC: one test USDC, a thousand times the usual price
LIFETIME_SECONDS_MIN = 15  # a shorter authorization may expire before settlement
LIFETIME_SECONDS_MAX = 600  # limits how long a leaked payment is usable
QUOTE_BYTES_MAX = 4096  # the payment repeats the quote in a header of at most 8 KiB
BODY_BYTES_MAX = 1024 * 1024
FILE_BYTES_MAX = 4 * BODY_BYTES_MAX  # a body with every character escaped, and the payment
TEXT_CHARACTERS_MAX = 300  # of printed text from the service
TIMEOUT_SECONDS = 120  # for a whole request: verification, settlement and reads of the chain take up to 90 s

# After these answers the outcome is unknown, and the same payment is sent again.
REPEAT_STATUSES = {429, 500, 502, 503, 504}
REPEATS_MAX = 6
WAIT_SECONDS = 2  # without a Retry-After header
CLOCK_SKEW_SECONDS = 60  # how far this clock may be ahead of the chain
WAIT_SECONDS_MAX = 60  # for a longer Retry-After the program stops

# These answers mean "not charged" if they have an error body of the service, except with these codes.
REFUSAL_STATUSES = {400, 402, 404, 405, 409, 413, 415}
UNCLEAR_CODES = {
    "payment_already_settled": "the service states that it settled this payment before and has no answer for it",
    "payment_replay_conflict": "the service states that this payment belongs to another request",
}


class Stop(Exception):
    """Ends the program with an exit code and a message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class NoAnswer(Exception):
    """No valid HTTP response. The request may have reached the service."""


# --- Keccak-256 (hashlib has SHA-3 only, which pads differently) --------------------------------


def rotate_left(lane: int, bits: int) -> int:
    return ((lane << bits) | (lane >> (64 - bits))) & 0xFFFFFFFFFFFFFFFF


def keccak_f(state: list[int]) -> None:
    """The permutation of 25 lanes of 64 bits; lane (x, y) is state[x + 5 * y]."""
    constants = 1  # 8-bit shift register that generates the round constants
    for _ in range(24):
        # theta
        parity = [state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20] for x in range(5)]
        for i in range(25):
            state[i] ^= parity[(i + 4) % 5] ^ rotate_left(parity[(i + 1) % 5], 1)
        # rho and pi: all lanes but the first move along one path and rotate by 1, 3, 6, 10, ...
        x, y, moving = 1, 0, state[1]
        for step in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            rotated = rotate_left(moving, (step + 1) * (step + 2) // 2 % 64)
            moving, state[x + 5 * y] = state[x + 5 * y], rotated
        # chi
        for row in range(0, 25, 5):
            a = state[row : row + 5]
            for x in range(5):
                state[row + x] = a[x] ^ (~a[(x + 1) % 5] & a[(x + 2) % 5])
        # iota
        for j in range(7):
            if constants & 1:
                state[0] ^= 1 << ((1 << j) - 1)
            constants = (constants << 1) ^ (0x171 if constants & 0x80 else 0)


def keccak256(data: bytes) -> bytes:
    rate = 136
    padded = bytearray(data + b"\x01" + bytes(rate - 1 - len(data) % rate))
    padded[-1] |= 0x80
    state = [0] * 25
    for start in range(0, len(padded), rate):
        for lane in range(rate // 8):
            state[lane] ^= int.from_bytes(padded[start + 8 * lane : start + 8 * lane + 8], "little")
        keccak_f(state)
    return b"".join(lane.to_bytes(8, "little") for lane in state[:4])


# --- secp256k1 ECDSA: not hardened against timing attacks, for test keys only -------------------

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
Point = Optional[tuple[int, int]]  # None is the point at infinity
G: Point = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)


def add(a: Point, b: Point, p: int = P, slope_constant: int = 0) -> Point:
    """The sum of two points of the curve y^2 = x^3 + slope_constant * x + b modulo p."""
    if a is None or b is None:
        return a or b
    (ax, ay), (bx, by) = a, b
    if ax == bx and (ay + by) % p == 0:
        return None
    if a == b:
        slope = (3 * ax * ax + slope_constant) * pow(2 * ay, -1, p) % p
    else:
        slope = (by - ay) * pow(bx - ax, -1, p) % p
    x = (slope * slope - ax - bx) % p
    return x, (slope * (ax - x) - ay) % p


def times(scalar: int, point: Point, p: int = P, slope_constant: int = 0) -> Point:
    result = None
    while scalar:
        if scalar & 1:
            result = add(result, point, p, slope_constant)
        point = add(point, point, p, slope_constant)
        scalar >>= 1
    return result


def times_g(scalar: int) -> tuple[int, int]:
    """The point scalar * G, for 0 < scalar < N."""
    result = times(scalar, G)
    assert result is not None
    return result


def nonces(key: int, digest: bytes, order: int = N) -> Iterator[int]:
    """The nonces k of RFC 6979 section 3.2, for SHA-256 and a 256-bit order. Usually the first is used."""

    def mac(secret: bytes, message: bytes) -> bytes:
        return hmac.new(secret, message, hashlib.sha256).digest()

    seed = key.to_bytes(32, "big") + (int.from_bytes(digest, "big") % order).to_bytes(32, "big")
    v, k = b"\x01" * 32, bytes(32)
    for separator in (b"\x00", b"\x01"):
        k = mac(k, v + separator + seed)
        v = mac(k, v)
    while True:
        v = mac(k, v)
        candidate = int.from_bytes(v, "big")
        if 0 < candidate < order:
            yield candidate
        k = mac(k, v + b"\x00")
        v = mac(k, v)


def sign(key: int, digest: bytes) -> bytes:
    """r, s and v in 65 bytes. s is the lower of its two values (EIP-2), as the token requires."""
    for k in nonces(key, digest):
        x, y = times_g(k)
        r = x % N
        s = (int.from_bytes(digest, "big") + r * key) * pow(k, -1, N) % N
        if r == 0 or s == 0 or x != r:  # practically impossible
            continue
        odd = y & 1
        if s > N // 2:
            s, odd = N - s, odd ^ 1
        return r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([27 + odd])
    raise AssertionError("nonces() is infinite")


def address_of(key: int) -> str:
    """The address of a private key, with EIP-55 checksum."""
    x, y = times_g(key)
    digits = keccak256(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[-20:].hex()
    checksum = keccak256(digits.encode()).hex()
    return "0x" + "".join(d.upper() if int(c, 16) >= 8 else d for d, c in zip(digits, checksum))


# --- EIP-3009 authorization as EIP-712 typed data ------------------------------------------------


def word(value: int | str) -> bytes:
    """ABI encoding of a number, an address or 32 bytes in hex: one word of 32 bytes."""
    return (int(value, 16) if isinstance(value, str) else value).to_bytes(32, "big")


def authorization_digest(authorization: dict[str, str]) -> bytes:
    """The EIP-712 digest of a TransferWithAuthorization of test USDC."""
    domain = keccak256(
        keccak256(b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
        + keccak256(USDC_NAME.encode())
        + keccak256(USDC_VERSION.encode())
        + word(CHAIN_ID)
        + word(USDC)
    )
    message = keccak256(
        keccak256(
            b"TransferWithAuthorization(address from,address to,uint256 value,"
            b"uint256 validAfter,uint256 validBefore,bytes32 nonce)"
        )
        + word(authorization["from"])
        + word(authorization["to"])
        + word(int(authorization["value"]))
        + word(int(authorization["validAfter"]))
        + word(int(authorization["validBefore"]))
        + word(authorization["nonce"])
    )
    return keccak256(b"\x19\x01" + domain + message)


# --- HTTP client with limits ---------------------------------------------------------------------


class Answer(NamedTuple):
    status: int
    body: str
    payment_required: str | None
    payment_response: str | None
    retry_after: str | None


def origin_of(url: str) -> str:
    """Scheme, host and port. Raises ValueError if the URL is not http(s) or has user information."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError(url)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    default = {"http": 80, "https": 443}[parts.scheme]
    port = "" if parts.port in (None, default) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def send(url: str, payment: str | None = None) -> Answer:
    """Sends a GET request with or without a payment. Raises NoAnswer without a valid response."""
    headers = {"User-Agent": "testnet-client.py", "Connection": "close"}
    if payment is not None:
        headers["PAYMENT-SIGNATURE"] = payment
    try:
        with closing(connection_to(url)) as connection:
            connection.connect()
            with TimeLimit(connection.sock):
                connection.request("GET", urlsplit(url).path, headers=headers)
                with connection.getresponse() as response:
                    return read_answer(response)
    except (OSError, http.client.HTTPException, UnicodeError) as cause:
        raise NoAnswer(f"{type(cause).__name__}: {printable(str(cause))}") from cause


def connection_to(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=TIMEOUT_SECONDS)
    context = ssl.create_default_context()
    return http.client.HTTPSConnection(host, parts.port, timeout=TIMEOUT_SECONDS, context=context)


class TimeLimit:
    """Closes a connection after TIMEOUT_SECONDS. The timeout of a socket restarts with every byte."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.expired = False
        self.timer = threading.Timer(TIMEOUT_SECONDS, self.end)
        self.timer.daemon = True

    def end(self) -> None:
        self.expired = True
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # already closed

    def __enter__(self) -> None:
        self.timer.start()

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        if self.expired:  # the response may be incomplete
            raise NoAnswer("the answer took too long")


def read_answer(response: http.client.HTTPResponse) -> Answer:
    body = response.read(BODY_BYTES_MAX + 1)
    if len(body) > BODY_BYTES_MAX:
        raise NoAnswer("the answer is too large")
    # read(n) does not detect a connection that ends early.
    if response.getheader("Content-Length", str(len(body))) != str(len(body)):
        raise NoAnswer("the answer is incomplete")

    def header(name: str) -> str | None:
        values = response.headers.get_all(name, [])
        if len(values) > 1:
            raise NoAnswer(f"the answer has more than one {name} header")
        return values[0] if values else None

    return Answer(
        response.status,
        body.decode("utf-8"),
        header("PAYMENT-REQUIRED"),
        header("PAYMENT-RESPONSE"),
        header("Retry-After"),
    )


# --- Untrusted text and JSON ---------------------------------------------------------------------


def printable(text: str) -> str:
    """Escapes and shortens untrusted text for a terminal."""
    escaped = text.encode("unicode_escape").decode("ascii")
    return escaped if len(escaped) <= TEXT_CHARACTERS_MAX else escaped[:TEXT_CHARACTERS_MAX] + "..."


def parse_object(text: str) -> dict[str, Any]:
    """Parses a JSON object. Raises ValueError for anything else."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)  # rejects 1e400, which json reads as infinity
    except RecursionError as cause:
        raise ValueError("nested too deeply") from cause
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def decode_header(header: str | None) -> dict[str, Any]:
    """The JSON object in an x402 header (base64 of UTF-8). Raises ValueError for anything else."""
    return parse_object(base64.b64decode(header or "", validate=True).decode("utf-8"))


def encode_header(value: dict[str, Any]) -> str:
    return base64.b64encode(json.dumps(value, separators=(",", ":"), allow_nan=False).encode()).decode()


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def show_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=True), flush=True)


def error_of(answer: Answer) -> tuple[str, str] | None:
    """Code and message of an error body of the service. None for other bodies, such as those of a proxy."""
    try:
        error = parse_object(answer.body)["error"]
        return printable(error["code"]), printable(error["message"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def say_status(answer: Answer) -> None:
    code, message = error_of(answer) or ("", "")
    say(f"HTTP {answer.status} {code} {message}".rstrip())


# --- The quote -----------------------------------------------------------------------------------


class Check(NamedTuple):
    name: str
    quoted: object
    expected: str
    holds: bool


def read_quote(answer: Answer) -> dict[str, Any]:
    """The quote in the answer to an unpaid request."""
    if answer.status != 402 or answer.payment_required is None:
        say_status(answer)
        if answer.retry_after is not None:
            say(f"the service asks to retry after {printable(answer.retry_after)} s")
        raise Stop(NOTHING_SENT, "the answer is not a quote: nothing was signed")
    try:
        if len(answer.payment_required) > QUOTE_BYTES_MAX:
            raise ValueError("too long")
        quote = decode_header(answer.payment_required)
        if quote["x402Version"] != 2:
            raise ValueError("unsupported version")
        if not isinstance(quote["resource"]["url"], str) or not isinstance(quote["accepts"][0], dict):
            raise ValueError("wrong types")
    except (ValueError, KeyError, IndexError, TypeError) as cause:
        raise Stop(NOTHING_SENT, "the quote is not valid x402 v2: nothing was signed") from cause
    return quote


def read_access(answer: Answer) -> dict[str, Any]:
    """The payment terms in the metadata of the service."""
    try:
        access: dict[str, Any] = parse_object(answer.body)["access"]
        if answer.status != 200 or not isinstance(access["endpoint_prices"], dict):
            raise ValueError("not metadata")
    except (ValueError, KeyError, TypeError) as cause:
        raise Stop(NOTHING_SENT, f"{META_PATH} is not valid metadata: nothing was signed") from cause
    return access


def same_address(one: object, other: object) -> bool:
    """Compares addresses. The case of the letters is only a checksum."""
    return is_address(one) and is_address(other) and str(one).lower() == str(other).lower()


def is_address(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("0x[0-9a-fA-F]{40}", value) is not None


def check_quote(quote: dict[str, Any], access: dict[str, Any], origin: str) -> list[Check]:
    """Checks the quote against the request, the constants above and the metadata."""
    url = quote["resource"]["url"]
    try:
        host = origin_of(url)
    except ValueError:
        host = "unreadable"
    path = url[len(host) :] if url.startswith(host) else url
    terms = quote["accepts"][0]
    network, asset, receiver = terms.get("network"), terms.get("asset"), terms.get("payTo")
    amount, seconds, extra = terms.get("amount"), terms.get("maxTimeoutSeconds"), terms.get("extra")
    extra = extra if isinstance(extra, dict) else {}
    price = access["endpoint_prices"].get(LOOKUP_ROUTE)
    return [
        Check("host", host, origin, host == origin),
        Check("resource", path, LOOKUP_PATH, path == LOOKUP_PATH),
        Check("scheme", terms.get("scheme"), "exact", terms.get("scheme") == "exact"),
        Check("network", network, f"{NETWORK} (test money only)", network == NETWORK == access.get("network")),
        Check("asset", asset, USDC, same_address(asset, USDC) and same_address(access.get("asset"), USDC)),
        Check(
            "token",
            f"{extra.get('name')} {extra.get('version')}",
            f"{USDC_NAME} {USDC_VERSION}",
            extra.get("name") == USDC_NAME and extra.get("version") == USDC_VERSION,
        ),
        Check("receiver", receiver, f"{access.get('pay_to')}", same_address(receiver, access.get("pay_to"))),
        Check(
            "amount",
            f"{amount} micro-USDC",
            f"{price} micro-USDC, at most {AMOUNT_MAX}",
            is_whole(price) and 0 < price <= AMOUNT_MAX and amount == str(price),
        ),
        Check(
            "expiry",
            f"{seconds} s after signing",
            f"{LIFETIME_SECONDS_MIN} to {LIFETIME_SECONDS_MAX} s",
            is_whole(seconds) and LIFETIME_SECONDS_MIN <= seconds <= LIFETIME_SECONDS_MAX,
        ),
    ]


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def fetch_quote(origin: str) -> dict[str, Any]:
    """Requests the quote, prints its checks, and returns it if all of them hold."""
    try:
        quote = read_quote(send(origin + LOOKUP_PATH))
        access = read_access(send(origin + META_PATH))
    except NoAnswer as cause:
        raise Stop(NOTHING_SENT, f"no answer from {origin} ({cause}): nothing was signed") from cause
    say(f"quote for {printable(quote['resource']['url'])}")
    checks = check_quote(quote, access, origin)
    for name, quoted, expected, holds in checks:
        verdict = "ok" if holds else f"DIFFERS: must be {printable(expected)}"
        say(f"  {name:9}{printable(str(quoted))}  {verdict}")
    if not all(check.holds for check in checks):
        raise Stop(NOTHING_SENT, "the quote is wrong: nothing was signed")
    return quote


# --- The payment and its file --------------------------------------------------------------------


def read_key(path: str) -> int:
    try:
        with open(path, encoding="ascii") as file:
            text = file.read(200).strip()
        key = int(text, 16) if re.fullmatch("0x[0-9a-fA-F]{64}", text) else 0
    except (OSError, UnicodeDecodeError):
        key = 0
    if not 0 < key < N:  # no cause in the message: it could contain a part of a key
        raise Stop(NOTHING_SENT, f"{path} is not a file with a private key (0x and 64 hex digits)")
    return key


def sign_quote(quote: dict[str, Any], key: int) -> dict[str, Any]:
    """Signs the x402 v2 payment for a checked quote."""
    terms = quote["accepts"][0]
    authorization = {
        "from": address_of(key),
        "to": terms["payTo"],
        "value": terms["amount"],
        "validAfter": "0",
        "validBefore": str(int(time.time()) + terms["maxTimeoutSeconds"]),
        "nonce": "0x" + secrets.token_hex(32),
    }
    signature = "0x" + sign(key, authorization_digest(authorization)).hex()
    payment = {
        "x402Version": 2,
        "payload": {"signature": signature, "authorization": authorization},
        "accepted": terms,
    }
    # x402 v2: the payment repeats both if the quote has them.
    repeated = {name: quote[name] for name in ("resource", "extensions") if name in quote}
    return with_payment_id({**payment, **repeated})


def with_payment_id(payment: dict[str, Any]) -> dict[str, Any]:
    """Adds a random payment id if the quote declares the extension.

    Signature and authorization become public on chain. Without the id, anyone could rebuild the
    payment from them and fetch the bought answer.
    """
    try:
        declared = payment["extensions"]["payment-identifier"]
        named = {**declared, "info": {**declared["info"], "id": secrets.token_hex(16)}}
    except (KeyError, TypeError):
        return payment
    return {**payment, "extensions": {**payment["extensions"], "payment-identifier": named}}


def write_purchase(path: str, purchase: dict[str, Any]) -> None:
    """Writes the file atomically and durably, readable by its owner only."""
    folder = os.path.dirname(os.path.abspath(path))
    handle, draft = tempfile.mkstemp(dir=folder, prefix=".payment-")  # mode 0600
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(purchase, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
    if os.name == "posix":  # makes the directory entry durable
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_purchase(path: str) -> dict[str, Any]:
    """Reads a purchase file of this program or of the client of the service, for the same request."""
    try:
        with open(path, encoding="utf-8") as file:
            purchase = parse_object(file.read(FILE_BYTES_MAX))
        is_same_request = purchase["request"] == request_to(origin_of(purchase["request"]["url"]))
        is_complete = isinstance(purchase["signed_at"], str) and is_address(payer_of(purchase))
        valid_before(purchase)
        answer = purchase["answer"]
        if answer is not None:
            is_complete = is_complete and {"status", "body", "payment_response"} <= answer.keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        is_same_request = is_complete = False
    if not is_same_request or not is_complete:
        raise Stop(NOTHING_SENT, f"{path} is not a purchase of company 00000000: nothing was sent")
    return purchase


def payer_of(purchase: dict[str, Any]) -> Any:
    return decode_header(purchase["payment"])["payload"]["authorization"]["from"]


def valid_before(purchase: dict[str, Any]) -> int:
    """The end of the authorization, in seconds since 1970. Raises ValueError if it is not a time."""
    text = decode_header(purchase["payment"])["payload"]["authorization"]["validBefore"]
    if re.fullmatch("[0-9]{1,11}", text) is None:
        raise ValueError("validBefore is not a time")
    return int(text)


def request_to(origin: str) -> dict[str, Any]:
    return {"method": "GET", "url": origin + LOOKUP_PATH, "headers": {}, "body": None}


# --- Paying --------------------------------------------------------------------------------------


def pay(path: str, purchase: dict[str, Any]) -> int:
    """Sends a stored payment until its outcome is known, and stores the answer in the same file."""
    stored = purchase["answer"]
    answer = send_until_decided(purchase["request"]["url"], purchase["payment"], path)
    received = {"status": answer.status, "body": answer.body, "payment_response": answer.payment_response}
    transaction = transaction_of(answer, payer_of(purchase))
    is_refusal = answer.status in REFUSAL_STATUSES and error_of(answer) is not None
    if transaction is None and not is_refusal:
        say_status(answer)
        raise Stop(UNKNOWN, "the answer has no valid receipt and is not a refusal: " + retry_hint(path))
    if stored is not None and stored["status"] == 200:
        # A bought answer is never overwritten.
        if stored != received and (transaction is None or stored != without_receipt(received)):
            say_status(answer)
            raise Stop(UNKNOWN, f"THE ANSWER DIFFERS FROM THE STORED ONE, which is still in {path}")
        say("same answer and transaction as before: nothing was charged again")
    else:
        try:
            write_purchase(path, {**purchase, "answer": received})
        except OSError as cause:
            say(f"the answer could not be written to {path} ({cause}); --retry fetches it again")
    if transaction is None:
        say_status(answer)
        unclear = UNCLEAR_CODES.get((error_of(answer) or ("",))[0])
        if unclear is not None:
            say(unclear)
            raise Stop(UNKNOWN, f"do not sign another payment: keep {path} and contact the operator")
        say("refused: the service states that nothing was charged")
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(valid_before(purchase) + CLOCK_SKEW_SECONDS))
        raise Stop(REFUSED, f"not sold: certain from {until} on; other purchases are safe meanwhile")
    say(f"paid in transaction {transaction} on {NETWORK}; answer and receipt are in {path}")
    show_json(parse_object(answer.body))
    try:
        say(check_receipt(answer, purchase))
    except (ValueError, KeyError, TypeError, AttributeError) as cause:
        raise Stop(UNKNOWN, f"THE RECEIPT IS WRONG ({printable(str(cause))}). The answer is in {path}") from cause
    return DONE


def without_receipt(received: dict[str, Any]) -> dict[str, Any]:
    """The answer as a service without receipts has sent it."""
    response = decode_header(received["payment_response"])
    response.pop("extensions", None)
    return {**received, "payment_response": encode_header(response)}


def send_until_decided(url: str, payment: str, path: str) -> Answer:
    """Repeats the identical request with the same payment until the outcome is known."""
    for repeats in range(REPEATS_MAX + 1):
        seconds = WAIT_SECONDS
        try:
            answer = send(url, payment)
            if answer.status not in REPEAT_STATUSES:
                return answer
            say_status(answer)
            if re.fullmatch("[0-9]{1,9}", answer.retry_after or ""):
                seconds = int(answer.retry_after or "")
        except NoAnswer as cause:
            say(f"no answer: {cause}")
        if repeats == REPEATS_MAX:
            break
        if seconds > WAIT_SECONDS_MAX:
            raise Stop(UNKNOWN, f"the service asks to wait {seconds} s: " + retry_hint(path))
        say(f"sending the same payment again in {seconds} s")
        time.sleep(seconds)
    raise Stop(UNKNOWN, "the outcome is still unknown: " + retry_hint(path))


def retry_hint(path: str) -> str:
    return f"do not sign another payment; send this one again with --retry {path}"


def transaction_of(answer: Answer, payer: str) -> str | None:
    """The transaction that paid for the answer. None if the answer has no valid receipt."""
    try:
        receipt = decode_header(answer.payment_response)
        parse_object(answer.body)
    except ValueError:
        return None
    transaction = receipt.get("transaction")
    is_paid = (
        answer.status == 200
        and receipt.get("success") is True
        and receipt.get("network") == NETWORK
        and same_address(receipt.get("payer", payer), payer)
        and isinstance(transaction, str)
        and re.fullmatch("0x[0-9a-fA-F]{64}", transaction) is not None
    )
    return transaction if is_paid else None


# --- The signed receipt --------------------------------------------------------------------------

# NIST P-256 (FIPS 186-5). Receipts are signed on it, with SHA-256 (ES256, RFC 7518 section 3.4).
P256 = 2**256 - 2**224 + 2**192 + 2**96 - 1
P256_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
P256_B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
P256_G: Point = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


def decode_base64url(text: str) -> bytes:
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != text:
        raise ValueError("not base64url")
    return data


def is_signed(message: bytes, signature: bytes, key: dict[str, Any]) -> bool:
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    x, y = (int.from_bytes(decode_base64url(key[name]), "big") for name in ("x", "y"))
    is_on_curve = x < P256 and y < P256 and (y * y - x**3 + 3 * x - P256_B) % P256 == 0
    if len(signature) != 64 or not (0 < r < P256_N and 0 < s < P256_N and is_on_curve):
        return False
    digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
    inverse = pow(s, -1, P256_N)
    left = times(digest * inverse % P256_N, P256_G, P256, -3)
    point = add(left, times(r * inverse % P256_N, (x, y), P256, -3), P256, -3)
    return point is not None and point[0] % P256_N == r


def json_digest(value: object) -> str:
    """SHA-256 of the RFC 8785 form. The answers of this program have no numbers and ASCII names only."""
    canonical = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def read_claims(receipt: str, keys: dict[str, Any]) -> dict[str, Any]:
    """The claims of a receipt. Raises ValueError, KeyError or TypeError if its signature is not valid."""
    head, body, signature = receipt.split(".")
    header = parse_object(decode_base64url(head).decode())
    if header["alg"] != "ES256" or header["typ"] != "payment-receipt+jwt":
        raise ValueError("it is not a payment receipt")
    if any(key["kid"] == header["kid"] for key in keys["compromised"]):
        raise ValueError("its key is marked as compromised")
    found = [key for key in keys["keys"] if key["kid"] == header["kid"] and key["crv"] == "P-256"]
    if len(found) != 1 or not is_signed(f"{head}.{body}".encode(), decode_base64url(signature), found[0]):
        raise ValueError("its signature is wrong")
    return parse_object(decode_base64url(body).decode())


def check_receipt(answer: Answer, purchase: dict[str, Any]) -> str:
    """Says what the receipt shows. Raises ValueError, KeyError or TypeError if it is wrong."""
    response = decode_header(answer.payment_response)
    if "extensions" not in response:
        return "the answer has no signed receipt"
    origin = origin_of(purchase["request"]["url"])
    try:
        reply = send(origin + KEYS_PATH)
        keys = parse_object(reply.body) if reply.status == 200 else None
    except (NoAnswer, ValueError):
        keys = None
    if keys is None:
        return f"the receipt is not checked: {KEYS_PATH} cannot be read"
    claims = read_claims(response["extensions"]["payment-receipt"]["info"]["receipt"], keys)
    authorization = decode_header(purchase["payment"])["payload"]["authorization"]
    bought, paid = parse_object(answer.body), claims["payment"]
    facts = [
        ("service", claims["iss"] == origin),
        ("answer", claims["answer_digest"] == json_digest(bought) and claims["snapshot_id"] == bought["snapshot_id"]),
        ("network", paid["network"] == NETWORK and same_address(paid["asset"], USDC)),
        ("payer", same_address(paid["payer"], authorization["from"])),
        ("receiver", same_address(paid["pay_to"], authorization["to"])),
        ("amount", paid["amount"] == authorization["value"]),
        ("nonce", str(paid["nonce"]).lower() == authorization["nonce"].lower()),
        ("transaction", paid["transaction"] == response["transaction"]),
    ]
    wrong = [name for name, holds in facts if not holds]
    if wrong:
        raise ValueError("it has another " + ", ".join(wrong))
    return "the receipt is signed by the service and fits the answer and the payment"


# --- Commands ------------------------------------------------------------------------------------


def buy(origin: str, key_file: str) -> int:
    key = read_key(key_file)
    quote = fetch_quote(origin)
    payment = sign_quote(quote, key)
    authorization = payment["payload"]["authorization"]
    path = f"payment-{authorization['nonce']}.json"
    purchase = {
        "request": request_to(origin),
        "payment": encode_header(payment),
        "quote": quote,
        "signed_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "answer": None,
    }
    try:
        write_purchase(path, purchase)
    except OSError as cause:
        raise Stop(NOTHING_SENT, f"the payment could not be written ({cause}): it was not sent") from cause
    say(f"signed one payment from {authorization['from']}, stored in {path}")
    return pay(path, purchase)


def retry(path: str) -> int:
    purchase = read_purchase(path)
    say(f"repeating {printable(purchase['request']['url'])} with the payment of {printable(purchase['signed_at'])}")
    return pay(path, purchase)


def print_quote(origin: str) -> int:
    show_json(fetch_quote(origin))
    say(
        f"""To pay it with another wallet, sign one TransferWithAuthorization (EIP-712, EIP-3009):
  domain   name "{USDC_NAME}", version "{USDC_VERSION}", chainId {CHAIN_ID}, verifyingContract {USDC}
  message  from: the payer; to and value: payTo and amount of accepts[0]; validAfter: 0;
           validBefore: Unix time in seconds + maxTimeoutSeconds; nonce: 32 random bytes
Write the payment to disk, then repeat the request with its base64 in the header PAYMENT-SIGNATURE:
  {{"x402Version": 2, "payload": {{"signature": ..., "authorization": the message, numbers as text}},
   "resource": as quoted, "accepted": accepts[0] as quoted, "extensions": as quoted, with a random id
   in payment-identifier.info.id (16 to 128 characters), so that nobody can rebuild the payment}}
After 429, 500, 502, 503 or no answer, repeat it with the same payment. Never sign another one."""
    )
    return DONE


def base_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError(text)
    return origin_of(text)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXIT_CODES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command = parser.add_mutually_exclusive_group(required=True)
    command.add_argument("--key-file", metavar="FILE", help="buy with the private key in this file")
    command.add_argument("--print-quote", action="store_true", help="print and check the quote, sign nothing")
    command.add_argument("--retry", metavar="FILE", help="send the payment in this file again")
    parser.add_argument("--url", type=base_url, help=f"the service (default: {BASE_URL})")
    options = parser.parse_args()
    if options.retry is not None and options.url is not None:
        parser.error("--retry takes no --url: the file has the URL")
    try:
        if options.retry is not None:
            return retry(options.retry)
        origin = options.url or base_url(BASE_URL)
        return print_quote(origin) if options.print_quote else buy(origin, options.key_file)
    except Stop as stop:
        say(str(stop))
        return stop.code
    except KeyboardInterrupt:
        say("interrupted: send a stored payment again with --retry")
        return UNKNOWN


if __name__ == "__main__":
    sys.exit(main())
