"""Stands in for eth-account, which Debian does not package: what testnet-client.py calls, over ecdsa and pycryptodomex."""

from hashlib import sha256
from types import SimpleNamespace

from Cryptodome.Hash import keccak
from ecdsa import SECP256k1, SigningKey, VerifyingKey
from ecdsa.util import sigencode_string_canonize

DOMAIN_TYPES = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}


def keccak256(data):
    return keccak.new(digest_bits=256, data=data).digest()


def encode(kind, value):
    """One value of EIP-712 in 32 bytes. Numbers can be decimal text, addresses and bytes hex text."""
    if kind == "string":
        return keccak256(value.encode())
    if isinstance(value, str):
        value = int(value, 16 if value.startswith("0x") else 10)
    return value.to_bytes(32, "big")


def hash_struct(name, fields, values):
    kind = f"{name}({','.join(f'{field_kind} {field}' for field, field_kind in fields.items())})"
    return keccak256(keccak256(kind.encode()) + b"".join(encode(fields[field], values[field]) for field in fields))


class LocalAccount:
    def __init__(self, key):
        self.signer = SigningKey.from_string(bytes.fromhex(key[2:]), SECP256k1)
        digits = keccak256(self.signer.verifying_key.to_string())[-20:].hex()
        checksum = keccak256(digits.encode()).hex()
        self.address = "0x" + "".join(d.upper() if int(c, 16) >= 8 else d for d, c in zip(digits, checksum))

    def sign_typed_data(self, domain_data, message_types, message_data):
        [(name, listed)] = message_types.items()
        fields = {field["name"]: field["type"] for field in listed}
        domain = hash_struct("EIP712Domain", DOMAIN_TYPES, domain_data)
        digest = keccak256(b"\x19\x01" + domain + hash_struct(name, fields, message_data))
        signature = self.signer.sign_digest_deterministic(digest, sha256, sigencode_string_canonize)
        points = VerifyingKey.from_public_key_recovery_with_digest(signature, digest, SECP256k1)
        # The point with an even y comes first.
        return SimpleNamespace(signature=signature + bytes([27 + points.index(self.signer.verifying_key)]))


class Account:
    from_key = LocalAccount
