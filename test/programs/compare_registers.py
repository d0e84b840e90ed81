"""Compares two whole CSV files of the register for some company numbers, independently of the service.

python3 compare_registers.py BEFORE.csv AFTER.csv < NUMBERS, one a line. Prints JSON: by the number of each company that
differs, "added", "removed", "conflict", "resolved", or the fields that differ as [field, before, after].
"""
import csv
import json
import sys

FIELDS = {
    "company_name": "legal_name",
    "company_status": "status",
    "company_status_code": "status_code",
    "comp_dissolved_date": "dissolved_date",
    "last_ar_date": "last_annual_return_date",
    "nard": "next_annual_return_date",
    "last_accounts_date": "last_accounts_date",
    "company_status_date": "status_date",
    "company_name_eff_date": "name_effective_date",
}
ADDRESS = ["company_address_1", "company_address_2", "company_address_3", "company_address_4", "eircode"]


def read(path):
    register = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows = register.setdefault(row["company_num"], [])
            if row not in rows:
                rows.append(row)
    return register


def fields(row):
    named = {name: row[column].strip() or "none" for column, name in FIELDS.items()}
    named["registered_address"] = ", ".join(row[part] for part in ADDRESS if row[part] != "")
    return named


def compare(before, after):
    if before == after:
        return None
    if not before:
        return "added"
    if not after:
        return "removed"
    if len(after) > 1:
        return "conflict"
    if len(before) > 1:
        return "resolved"
    old, new = fields(before[0]), fields(after[0])
    return [[name, old[name], new[name]] for name in old if old[name] != new[name]]


def main():
    before, after = read(sys.argv[1]), read(sys.argv[2])
    numbers = sys.stdin.read().split()
    found = {number: compare(before.get(number, []), after.get(number, [])) for number in numbers}
    print(json.dumps({number: each for number, each in found.items() if each is not None}))


main()
