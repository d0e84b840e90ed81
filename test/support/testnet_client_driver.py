"""Imports the test client at the path in the first argument and runs the calls in a JSON list on stdin."""

import contextlib
import importlib.util
import io
import json
import sys

spec = importlib.util.spec_from_file_location("testnet_client", sys.argv[1])
client = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client)


def first_nonces(key, digest, order, count):
    candidates = client.nonces(int(key, 16), bytes.fromhex(digest), int(order, 16))
    return [format(next(candidates), "064x") for _ in range(count)]


def send(url, seconds):
    client.TIMEOUT_SECONDS = seconds
    try:
        return client.send(url).body
    except client.NoAnswer as cause:
        return f"no answer: {cause}"


def stop_code(function, *arguments):
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            function(*arguments)
        return None
    except client.Stop as stop:
        return stop.code


def origin(url):
    try:
        return client.origin_of(url)
    except ValueError:
        return None


CALLS = {
    "nonces": first_nonces,
    "signature": lambda key, message: client.sign(int(key, 16), client.authorization_digest(message)).hex(),
    "send": send,
    "origin": origin,
    "quote": lambda answer: stop_code(client.read_quote, client.Answer(*answer)),
    "access": lambda answer: stop_code(client.read_access, client.Answer(*answer)),
    "transaction": lambda answer, payer: client.transaction_of(client.Answer(*answer), payer),
}

json.dump([CALLS[name](*arguments) for name, *arguments in json.load(sys.stdin)], sys.stdout)
