"""Imports the test client at the path in the first argument and runs the calls in a JSON list on stdin."""

import importlib.util
import json
import sys

spec = importlib.util.spec_from_file_location("testnet_client", sys.argv[1])
client = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client)


def send(url, seconds):
    client.TIMEOUT_SECONDS = seconds
    try:
        return client.send(url).body
    except client.NoAnswer as cause:
        return f"no answer: {cause}"


CALLS = {
    "signature": lambda key, message: client.sign(int(key, 16), client.authorization_digest(message)).hex(),
    "send": send,
}

json.dump([CALLS[name](*arguments) for name, *arguments in json.load(sys.stdin)], sys.stdout)
