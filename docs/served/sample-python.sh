# Only the standard library of Python. buyer.key has the private key of an account, with mode 0600.
curl -sO {{base_url}}/testnet-client.py
python3 testnet-client.py --key-file buyer.key
