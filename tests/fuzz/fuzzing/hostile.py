"""What damaged and hostile files hold: the tokens and values that mutations put in."""

import base64
import gzip
from typing import Any

TOKENS: tuple[bytes, ...] = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\r", b"\x85", b"\xe2\x80\xa8", b"\t"),
    *(b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\x1b[2J", b"\x7f", "\u202e".encode()),
    *("e\u0301\u0301\u0301".encode(), b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 400),
    *(b"18446744073709551616", b"0x10", b"1_000", b"null", b"true", b"{}", b"[]", b'""'),
    *(b"\\ud800", b"\\u0000", b"%s%n{0}", b"${x}", b"{{7*7}}", b"[bold]", b"<!--", b"]]>"),
    *(b"' OR 1=1 --", b"__class__", b"2026-13-45", b"12:61:61", b"*a", b"&a", b"<<: *a"),
    *(b"!!python/name:os.system", b"? ", b": ", b"---\n", b"...\n", b"%YAML 9.9\n"),
)
"""Byte sequences that readers of text, numbers, JSON, YAML, XML and terminals stumble over."""

SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63, 2**64, 10**30, 10**400),
    *(0.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf")),
    *("", " ", "\x00", "\ud800", "a\udfffb", "\u202eevil", "\x1b]0;title\x07", "[red]x[/red]"),
    *("line\nline\r\u2028line", "x" * 100_000, "é" * 5_000, "9" * 5_000, "1e999", "NaN", "default"),
    *("..", "a/../../b", "2026-02-30", "-9999-01-01T00:00:00Z", "\N{PILE OF POO}"),
    *([], {}, [[]], [None], {"": ""}, {"a": {"a": {"a": {}}}}, ["x"] * 3_000),
)
"""Values that may stand in the place of any other one in JSON or YAML."""

_DEPTH = 100_000
WHOLE_FILES: tuple[bytes, ...] = (
    *(b"", b"\n", b"\xef\xbb\xbf", b"\x00" * 64, b"null", b"true", b"NaN", b"1" * 10_000),
    *(b"[" * _DEPTH, b'{"a":' * _DEPTH, b"[" * 900 + b"]" * 900, b"- " * 5_000, b"(" * 50_000),
    b"{a: " * 3_000 + b"}" * 3_000,
    b'"' + b"x" * 2**21 + b'"',
    b"\xff\xfe" + '{"id": 1}\n'.encode("utf-16-le"),
    b"a: &a [*a]\n",
    b"a: &a {b: *a}\nc: *a\n",
    b"\n".join(
        b"a%d: &a%d [%s]" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9) if n else b"lol")
        for n in range(12)
    ),
    b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "lol">'
    + b"".join(
        b'<!ENTITY a%d "%s">' % (n, (b"&a%d;" % (n - 1) if n else b"&a;") * 10) for n in range(12)
    )
    + b"]><l>&a11;</l>",
    b'<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/hostname">]><l>&x;</l>',
    b"<a>" * 20_000,
    gzip.compress(b"x" * 1000, mtime=0)[:-8],
    b"PK\x03\x04",
    b"SQLite format 3\x00" + b"\x00" * 84,
    base64.b64decode("k05VTVBZAQB2AA=="),
)
"""Whole files: empty, nested without end, multiplying themselves, of another format."""
