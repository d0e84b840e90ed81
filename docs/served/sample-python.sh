# uv installs the packages that the program names. buyer.key has the private key of an account, with mode 0600.
curl -sO {{base_url}}/testnet-client.py
uv run testnet-client.py --key-file buyer.key
