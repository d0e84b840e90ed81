"""Computes the snapshot id of a register from the rules of docs/data.md alone. Usage: snapshot_id.py FILE.csv

Shares no code with the service, so that the document is proven to be complete. Standard library only.
"""

import hashlib
import json
import re
import sys
import unicodedata

NORMALISATION = "cro-4"
COLUMNS = (
    "company_num company_name company_status_code company_status company_type_code company_type company_reg_date "
    "last_ar_date company_address_1 company_address_2 company_address_3 company_address_4 comp_dissolved_date nard "
    "last_accounts_date company_status_date nace_v2_code eircode company_name_eff_date company_type_eff_date "
    "princ_object_code"
).split()

WHITE_SPACE = "\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
TRIMMED = re.compile(f"^[{WHITE_SPACE}\ufeff]+|[{WHITE_SPACE}\ufeff]+\\Z")
HIDDEN_RANGES = (
    "0000-001F 007F-009F 00AD 034F 0600-0605 061C 06DD 070F 0890-0891 08E2 115F-1160 17B4-17B5 180B-180F 200B-200F "
    "202A-202E 2060-206F 3164 D800-DFFF FDD0-FDEF FE00-FE0F FEFF FFA0 FFF0-FFFB FFFE-FFFF 110BD 110CD 13430-1343F "
    "1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"
)


def hidden_code_points():
    for item in HIDDEN_RANGES.split():
        first, _, last = item.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)
    for plane in range(17):
        yield from (plane * 0x10000 + 0xFFFE, plane * 0x10000 + 0xFFFF)


HIDDEN = dict.fromkeys(hidden_code_points())

TEXTS = {"legal_name": "company_name", "status": "company_status", "company_type": "company_type"}
CODES = {
    "status_code": "company_status_code",
    "company_type_code": "company_type_code",
    "principal_object_code": "princ_object_code",
}
DATES = {
    "registered_date": "company_reg_date",
    "dissolved_date": "comp_dissolved_date",
    "last_annual_return_date": "last_ar_date",
    "next_annual_return_date": "nard",
    "last_accounts_date": "last_accounts_date",
    "status_date": "company_status_date",
    "name_effective_date": "company_name_eff_date",
    "type_effective_date": "company_type_eff_date",
}


class MalformedFile(Exception):
    pass


def read_rows(text):
    """Yields the fields of each row, or None for a malformed row."""
    at = 0
    while at < len(text):
        end = line_end(text, at)
        if end:
            at += end
            continue
        fields, is_malformed = [], False
        while True:
            value, at, has_stray_quote = read_field(text, at)
            fields.append(value)
            is_malformed = is_malformed or has_stray_quote
            if at < len(text) and text[at] == ",":
                at += 1
                continue
            at += line_end(text, at)
            break
        yield None if is_malformed else fields


def line_end(text, at):
    """The length of the line end at a position, or 0."""
    if text.startswith("\n", at):
        return 1
    return 2 if text.startswith("\r\n", at) else 0


def ends_field(text, at):
    return at == len(text) or text[at] == "," or line_end(text, at) > 0


def read_field(text, at):
    """Returns the value, the position after it, and whether it has a stray quote."""
    if at < len(text) and text[at] == '"':
        return read_quoted_field(text, at + 1)
    start = at
    while not ends_field(text, at):
        at += 1
    value = text[start:at]
    return value, at, '"' in value


def read_quoted_field(text, at):
    value, has_stray_quote = "", False
    while True:
        quote = text.find('"', at)
        if quote == -1:
            raise MalformedFile("a quoted field has no end")
        value += text[at:quote]
        if text.startswith('"', quote + 1):
            value += '"'
            at = quote + 2
        elif ends_field(text, quote + 1):
            return value, quote + 1, has_stray_quote
        else:
            value += '"'
            has_stray_quote = True
            at = quote + 1


def trim(value):
    return TRIMMED.sub("", value)


def clean_text(value):
    spaced = re.sub(f"[{WHITE_SPACE}]+", " ", value)
    visible = re.sub(" +", " ", spaced.translate(HIDDEN)).strip(" ")
    return unicodedata.normalize("NFC", visible)


def date(value):
    text = re.sub(r"T00:00:00(\.0+)?Z?\Z", "", trim(value))
    match = re.fullmatch("([0-9]{4})-([0-9]{2})-([0-9]{2})", text)
    if match is None or text in ("1901-01-01", "0001-01-01"):
        return None
    year, month, day = map(int, match.groups())
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if is_leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return text if 1 <= month <= 12 and 1 <= day <= days[month - 1] else None


def code(value):
    text = trim(value)
    return text if re.fullmatch(r"[0-9]{1,8}(\.[0-9]{1,4})?", text) else None


def nace_code(value):
    match = re.fullmatch(r"([0-9]{1,4})(\.0)?", trim(value))
    return match.group(1).zfill(4) if match else None


def address_line(value):
    text = clean_text(value)
    if "*" in text:
        text = re.sub(r"\*+ *NO ADDRESS DETAILS *\*+", " ", text, flags=re.IGNORECASE | re.ASCII)
        text = re.sub(" +", " ", text)
    return text.strip(" ,")


def eircode(value):
    text = re.sub(f"[{WHITE_SPACE}\ufeff-]", "", value.upper())
    return f"{text[:3]} {text[3:]}" if re.fullmatch("([A-Z][0-9]{2}|D6W)[A-Z0-9]{4}", text) else None


def to_company(row):
    """Returns the company, or None for a rejected row."""
    number, name = trim(row["company_num"]), clean_text(row["company_name"])
    if not re.fullmatch("[0-9]{1,20}", number) or name == "":
        return None
    lines = [address_line(row[f"company_address_{line}"]) for line in (1, 2, 3, 4)]
    return {
        "company_number": number,
        **{field: clean_text(row[column]) or None for field, column in TEXTS.items()},
        **{field: code(row[column]) for field, column in CODES.items()},
        **{field: date(row[column]) for field, column in DATES.items()},
        "nace_v2_code": nace_code(row["nace_v2_code"]),
        "registered_address": {"eircode": eircode(row["eircode"]), "lines": [line for line in lines if line]},
    }


def read_entries(text):
    rows = read_rows(text)
    header = next(rows, None)
    if header is None or [trim(name) for name in header] != COLUMNS:
        raise MalformedFile("the header is not that of the register")
    entries = {}
    for fields in rows:
        company = to_company(dict(zip(COLUMNS, fields))) if fields and len(fields) == len(COLUMNS) else None
        if company is None:
            continue
        number = company["company_number"]
        if entries.setdefault(number, company) != company:
            entries[number] = {"company_number": number, "quarantined": True}
    return entries


def to_json(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def snapshot_id(content):
    entries = read_entries(content.decode("utf-8", errors="replace").removeprefix("\ufeff"))
    digest = hashlib.sha256(f"{to_json({'normalisation': NORMALISATION})}\n".encode())
    for number in sorted(entries, key=lambda each: (len(each), each)):
        digest.update(f"{to_json(entries[number])}\n".encode())
    return f"sha256:{digest.hexdigest()}"


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        print(snapshot_id(file.read()))
