r"""Stores Python values as JSON text that reads like JSON; gives them back equal, of the same type.

Plain values are plain: None, bool, int of up to 64 bits, finite float, str, list, dict with str keys, each of
exactly that type. Everything else is an object with a `$type`; what is `…` in this list is stored in turn.

Single values:

- int of more than 64 bits: `{"$type": "int", "value": "18446744073709551616"}`; of more than 4,300 digits:
  `{"$type": "int", "hex": "0x…"}`
- NaN, infinities: `{"$type": "float", "value": "nan"}` (`inf`, `-inf`)
- str with lone surrogates: `{"$type": "str", "escaped": "\\ud800"}`, escaped as Python writes it
- bytes, bytearray: `{"$type": "bytes", "base64": …}`
- complex: `{"$type": "complex", "real": …, "imag": …}`
- Decimal, UUID, date: `{"$type": "Decimal", "value": "1.10"}`
- Fraction: `{"$type": "Fraction", "numerator": …, "denominator": …}`
- datetime, time: `{"$type": "datetime", "value": ISO text}`; the offset is in the text where the zone has no
  name, else `"tz": …`; `"fold": 1` where it is set. A zone that cannot be stored comes back as its offset
- timedelta: `{"$type": "timedelta", "days": 1, "seconds": 0, "microseconds": 0}`
- timezone: `{"$type": "timezone", "offset": …, "name": …}`; zoneinfo: `{"$type": "zoneinfo", "key": …}`
- paths: `{"$type": "PosixPath", "value": …}` (`PurePosixPath`, `WindowsPath`, `PureWindowsPath`)
- Ellipsis, NotImplemented: `{"$type": "Ellipsis"}`

Containers:

- tuple, set, frozenset: `{"$type": "tuple", "items": [...]}`; the elements of sets are sorted by their text
- dict with other keys, or with a key `$type`: `{"$type": "dict", "items": [[key, value], …]}`, in order;
  OrderedDict, Counter likewise
- defaultdict: the same with `"factory"`: `{"name": "list"}` for builtins, null for None; another function is
  not stored, so that asking for an absent key is the use of a missing value
- deque: `{"$type": "deque", "items": [...], "maxlen": null}`
- range, slice: `{"$type": "range", "start": …, "stop": …, "step": …}`
- SimpleNamespace: `{"$type": "namespace", "fields": {…}}`

Classes. All have `"class": "module:qualname"`, with `"main": true` if the module ran as `__main__` (its real
name is given), and `"state": {…}` where an instance has attributes besides what the list says:

- dataclass, attrs, NamedTuple: `{"$type": "dataclass", "class": …, "fields": {…}}` (`attrs`, `namedtuple`)
- pydantic model: `{"$type": "pydantic", "class": …, "fields": {…}, "set": [names], "extra": …, "private": …}`
- member of an enumeration: `{"$type": "enum", "class": …, "name": …, "value": …}`; no name: combined flags
- exception: `{"$type": "exception", "class": …, "args": […], "members": {…}, "cause": …, "exceptions": […],
  "suppress_context": true, "text": …}`; members are those of the builtin classes (`errno`, `filename`);
  `text` is there where the args do not say it; AttributeError's `obj` is left out
- pydantic.ValidationError: `{"$type": "pydantic.ValidationError", "title": …, "errors": […]}`
- URL types of pydantic: `{"$type": "pydantic.network", "class": …, "fields": {…}}`
- class object: `{"$type": "class", "class": …}`, of a class whose instances are in this list; others are opaque,
  and one that is not at hand is served as a missing value
- subclass of a plain type: `{"$type": "subclass", "class": …, "of": "dict", "value": …}`

What cannot be stored, or is nested more than 180 levels deep, or contains itself:

- `{"$type": "opaque", "class": "module:qualname", "text": its repr, at most 500 characters, no addresses}`;
  secrets (pydantic's SecretStr and kin) have no text

Shared references come back as equal copies.
"""

from __future__ import annotations

from tracetape.codec import classobjects, containers, enums, exceptions, opaque, records, standard, subclasses
from tracetape.codec.decoder import parse
from tracetape.codec.encoder import encode, json_text, json_utf8, to_tree
from tracetape.codec.opaque import OpaquePart, unnoticed
from tracetape.codec.registry import TAG, Tree, register, storable
from tracetape.codec.scan import scan

__all__ = [
    "TAG",
    "OpaquePart",
    "Tree",
    "encode",
    "json_text",
    "json_utf8",
    "parse",
    "scan",
    "storable",
    "to_tree",
    "unnoticed",
]

for _module in (opaque, standard, containers, enums, exceptions, records, subclasses, classobjects):
    register(*_module.CODECS)
