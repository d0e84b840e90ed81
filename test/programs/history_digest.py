"""Prints the digest of a journal, by the rules of docs/data.md: python3 history_digest.py TIME=CSV ... [erased=NUMBER ...]

Reads CSV files with snapshot_id.py and uses nothing of the product."""
import hashlib
import json
import sys

import snapshot_id


def entries_of(path):
    """The snapshot id of a CSV file, and each number with its line in it."""
    with open(path, "rb") as file:
        content = file.read()
    entries = snapshot_id.read_entries(content.decode("utf-8", errors="replace").removeprefix("\ufeff"))
    return snapshot_id.snapshot_id(content), {number: snapshot_id.to_json(entry) for number, entry in entries.items()}


def state(number, name):
    return json.dumps({"company_number": number, "state": name}, separators=(",", ":"))


def versions_of(number, files, is_erased):
    """The lines of a number, by the index of the file that said it first."""
    versions = []
    for index, (_, _, entries) in enumerate(files):
        line = entries.get(number, state(number, "absent"))
        said = versions[-1][1] if versions else state(number, "absent")
        if line != said:
            versions.append((index, line))
    if is_erased and len(versions) > 1:
        versions = [(versions[0][0], state(number, "erased")), versions[-1]]
    return dict(versions)


def main(arguments):
    pairs = [argument.split("=", 1) for argument in arguments]
    erased = {value for name, value in pairs if name == "erased"}
    files = []
    for time, path in sorted(pair for pair in pairs if pair[0] != "erased"):
        snapshot, entries = entries_of(path)
        if not files or files[-1][1] != snapshot:
            files.append((time[:10], snapshot, entries))
    numbers = sorted({number for file in files for number in file[2]}, key=lambda number: (len(number), number))
    versions = {number: versions_of(number, files, number in erased) for number in numbers}
    digest = hashlib.sha256()
    for index, (date, snapshot, _) in enumerate(files):
        lines = [json.dumps({"date": date, "snapshot_id": snapshot}, separators=(",", ":"))]
        lines += [versions[number][index] for number in numbers if index in versions[number]]
        digest.update("".join(f"{line}\n" for line in lines).encode())
    print(f"sha256:{digest.hexdigest()}")


main(sys.argv[1:])
