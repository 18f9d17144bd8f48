"""Stores the single values of the standard library: numbers, texts, bytes, times, ids, paths."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from tracetape.codec.raw import exactly
from tracetape.codec.registry import TAG, Codec, Read, Tree, Write

__all__ = ["CODECS"]

Body = Mapping[str, Tree]

# int() and str() refuse more than 4,300 digits unless told otherwise: 10 ** 4300 has this many bits.
_BITS_LIMIT = 14284
# With the sign. int() needs quadratic time for the digits, and the program can have lifted Python's limit.
_DIGITS_LIMIT = 4301
# Fraction() divides by the greatest common divisor, in time that is quadratic in the lesser of its parts.
_FRACTION_BITS = 1 << 18
_ZONE_KEY = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")


def _of_text(tag: str, cls: type, text: Callable[[Any], str], make: Callable[[str], Any]) -> Codec:
    """A codec for a type that its own text says completely."""

    def encode(value: Any, write: Write) -> dict[str, Tree]:
        return {"value": text(value)}

    def decode(body: Body, read: Read) -> Any:
        return make(_str(body["value"]))

    return Codec(tag=tag, types=(cls,), encode=encode, decode=decode, levels=1)


def _str(tree: Tree) -> str:
    if type(tree) is not str:
        raise TypeError(f"a text is expected, not {tree!r:.80}")
    return tree


def _encode_int(value: int, write: Write) -> dict[str, Tree]:
    if value.bit_length() <= _BITS_LIMIT:
        try:
            return {"value": str(value)}
        except ValueError:  # the program lowered the limit
            pass
    return {"hex": hex(value)}


def _decode_int(body: Body, read: Read) -> int:
    if "hex" in body:
        return int(_str(body["hex"]), 16)
    digits = _str(body["value"])
    if len(digits) > _DIGITS_LIMIT:
        raise ValueError("more digits than are ever written: so large a number is stored as hex")
    return int(digits)


def _encode_str(value: str, write: Write) -> dict[str, Tree]:
    return {"escaped": value.encode("unicode_escape").decode("ascii")}


def _decode_str(body: Body, read: Read) -> str:
    return _str(body["escaped"]).encode("ascii").decode("unicode_escape")


def _encode_bytes(value: bytes | bytearray, write: Write) -> dict[str, Tree]:
    return {"base64": base64.b64encode(value).decode("ascii")}


def _decode_bytes(body: Body, read: Read) -> bytes:
    return base64.b64decode(_str(body["base64"]), validate=True)


def _decode_bytearray(body: Body, read: Read) -> bytearray:
    return bytearray(_decode_bytes(body, read))


def _encode_complex(value: complex, write: Write) -> dict[str, Tree]:
    return {"real": write(value.real), "imag": write(value.imag)}


def _decode_complex(body: Body, read: Read) -> complex:
    return complex(exactly(read(body["real"]), float, int), exactly(read(body["imag"]), float, int))


def _encode_fraction(value: Fraction, write: Write) -> dict[str, Tree]:
    _check_fraction(value.numerator, value.denominator)
    return {"numerator": write(value.numerator), "denominator": write(value.denominator)}


def _decode_fraction(body: Body, read: Read) -> Fraction:
    # Fraction(Decimal("1e30000000")) would write out all the digits of it.
    numerator, denominator = exactly(read(body["numerator"]), int), exactly(read(body["denominator"]), int)
    _check_fraction(numerator, denominator)
    return Fraction(numerator, denominator)


def _check_fraction(numerator: int, denominator: int) -> None:
    if min(numerator.bit_length(), denominator.bit_length()) > _FRACTION_BITS:
        raise ValueError("a fraction of numbers so large that reducing it would take too long")


def _encode_moment(value: datetime | time, write: Write) -> dict[str, Tree]:
    """datetime or time: as ISO text where that says everything, with the zone and the fold besides where not."""
    zone = value.tzinfo
    if zone is None or (type(zone) is timezone and _said_by_iso(zone)):
        body: dict[str, Tree] = {"value": value.isoformat()}
    else:
        tree = write(zone)
        # A zone that we do not know (dateutil, pytz) has at least an offset, which names the same instant.
        naive = tree.get(TAG) != "opaque" or value.utcoffset() is None
        body = {"value": (value.replace(tzinfo=None) if naive else value).isoformat(), "tz": tree}
    if value.fold:
        body["fold"] = 1
    return body


def _said_by_iso(zone: timezone) -> bool:
    offset, *name = _timezone_arguments(zone)
    # fromisoformat takes an offset of less than a second for none.
    return not name and offset.seconds % 60 == 0 and offset.microseconds == 0


def _decode_moment(body: Body, read: Read, cls: Any) -> Any:
    value = cls.fromisoformat(_str(body["value"]))
    if "tz" in body:
        zone = read(body["tz"], ".tzinfo")
        if type(zone) is timezone or type(zone) is ZoneInfo:
            value = value.replace(tzinfo=zone)
        elif value.tzinfo is None:
            read.refuse(f"its time zone {body['tz'].get('class')} was not stored")
        else:
            read.note(f"its time zone {body['tz'].get('class')} came back as the offset that it had")
    return value.replace(fold=1) if body.get("fold") == 1 else value


def _decode_datetime(body: Body, read: Read) -> datetime:
    value: datetime = _decode_moment(body, read, datetime)
    return value


def _decode_time(body: Body, read: Read) -> time:
    value: time = _decode_moment(body, read, time)
    return value


def _encode_timedelta(value: timedelta, write: Write) -> dict[str, Tree]:
    return {"days": value.days, "seconds": value.seconds, "microseconds": value.microseconds}


def _decode_timedelta(body: Body, read: Read) -> timedelta:
    days, seconds, microseconds = (exactly(body[name], int) for name in ("days", "seconds", "microseconds"))
    return timedelta(days=days, seconds=seconds, microseconds=microseconds)


def _timezone_arguments(zone: timezone) -> tuple[Any, ...]:
    arguments: tuple[Any, ...] = zone.__getinitargs__()  # type: ignore[attr-defined]
    return arguments


def _encode_timezone(value: timezone, write: Write) -> dict[str, Tree]:
    offset, *name = _timezone_arguments(value)
    body: dict[str, Tree] = {"offset": write(offset)}
    if name:
        body["name"] = write(name[0])
    return body


def _decode_timezone(body: Body, read: Read) -> timezone:
    offset = exactly(read(body["offset"]), timedelta)
    return timezone(offset, exactly(read(body["name"]), str)) if "name" in body else timezone(offset)


def _encode_zoneinfo(value: ZoneInfo, write: Write) -> dict[str, Tree]:
    if not _ZONE_KEY.fullmatch(value.key):
        raise ValueError(value.key)
    return {"key": value.key}


def _decode_zoneinfo(body: Body, read: Read) -> ZoneInfo:
    key = _str(body["key"])
    # ZoneInfo opens a file, or a resource of the package tzdata, of that name.
    if not _ZONE_KEY.fullmatch(key):
        raise ValueError(f"{key!r} is no name of a time zone")
    return ZoneInfo(key)


def _path(cls: type) -> Codec:
    def encode(value: Any, write: Write) -> dict[str, Tree]:
        return {"value": write(str(value))}

    def decode(body: Body, read: Read) -> Any:
        return cls(exactly(read(body["value"]), str))

    return Codec(tag=cls.__name__, types=(cls,), encode=encode, decode=decode)


def _only(tag: str, value: object) -> Codec:
    def encode(same: object, write: Write) -> dict[str, Tree]:
        return {}

    def decode(body: Body, read: Read) -> Any:
        return value

    return Codec(tag=tag, types=(type(value),), encode=encode, decode=decode, levels=1)


CODECS = (
    Codec(tag="int", types=(int,), encode=_encode_int, decode=_decode_int, levels=1),
    Codec(tag="str", types=(str,), encode=_encode_str, decode=_decode_str, levels=1),
    _of_text("float", float, repr, float),
    Codec(tag="bytes", types=(bytes,), encode=_encode_bytes, decode=_decode_bytes, levels=1),
    Codec(tag="bytearray", types=(bytearray,), encode=_encode_bytes, decode=_decode_bytearray, levels=1),
    Codec(tag="complex", types=(complex,), encode=_encode_complex, decode=_decode_complex),
    _of_text("Decimal", Decimal, str, Decimal),
    Codec(tag="Fraction", types=(Fraction,), encode=_encode_fraction, decode=_decode_fraction),
    _of_text("UUID", UUID, str, UUID),
    Codec(tag="datetime", types=(datetime,), encode=_encode_moment, decode=_decode_datetime),
    Codec(tag="time", types=(time,), encode=_encode_moment, decode=_decode_time),
    _of_text("date", date, date.isoformat, date.fromisoformat),
    Codec(tag="timedelta", types=(timedelta,), encode=_encode_timedelta, decode=_decode_timedelta, levels=1),
    Codec(tag="timezone", types=(timezone,), encode=_encode_timezone, decode=_decode_timezone),
    Codec(tag="zoneinfo", types=(ZoneInfo,), encode=_encode_zoneinfo, decode=_decode_zoneinfo, levels=1),
    _path(PurePosixPath),
    _path(PureWindowsPath),
    _path(PosixPath),
    _path(WindowsPath),
    _only("Ellipsis", ...),
    _only("NotImplemented", NotImplemented),
)
