"""Objects in the stores that fsspec knows: `s3://`, `gs://`, `az://`, …"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tracetape.errors import SourceError
from tracetape.sources.addresses import shown

__all__ = ["objects"]

_CHUNK = 2**20
# They read what is on this machine, or what others wrap: a path says that better, and is checked as one.
_LOCAL = {"file", "local", "memory", "dir", "filecache", "simplecache", "blockcache", "cached", "reference"}

Opening = Callable[[], AbstractContextManager[Iterator[bytes]]]


def objects(url: str) -> list[tuple[str, Opening]]:
    """The object that a URL names, or all below it where it ends in a slash; each by name and how it is opened.

    Raises SourceError UNKNOWN_SOURCE where no such store is known, or what it needs is not installed;
    FILE_NOT_FOUND, CANNOT_READ, also when it is read.
    """
    scheme = url.partition("://")[0].lower()
    files, path = _store(url, scheme)
    try:
        if url.endswith("/"):
            paths = sorted(one for one in files.find(path) if not one.rpartition("/")[2].startswith("."))
        else:
            paths = [path] if files.exists(path) else []
    except Exception as error:  # noqa: BLE001 (of the store's own client, which has its own classes)
        raise _unreadable(url, error) from None
    if not paths:
        raise SourceError(f"{shown(url)}: there is no such object", code="FILE_NOT_FOUND")
    return [(shown(f"{scheme}://{one}"), _opening(files, one, url)) for one in paths]


def _store(url: str, scheme: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise SourceError(
            f"{shown(url)}: reading from {scheme}:// needs fsspec: pip install 'tracetape[remote]', and the "
            "client of the store (s3fs for s3://, gcsfs for gs://, adlfs for az://)",
            code="UNKNOWN_SOURCE",
        ) from None
    if scheme in _LOCAL or "::" in url:
        raise SourceError(f"{shown(url)}: give the path of the file itself", code="UNKNOWN_SOURCE")
    try:
        files, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise SourceError(f"{shown(url)}: {error}", code="UNKNOWN_SOURCE") from None
    except ValueError:
        raise SourceError(
            f"{shown(url)}: {scheme}:// is not known. Read are files, http(s)://, backends such as "
            "jaeger+http://HOST:16686/TRACE_ID, and the stores that fsspec knows (s3://, gs://, az://)",
            code="UNKNOWN_SOURCE",
        ) from None
    except Exception as error:  # noqa: BLE001 (see objects)
        raise _unreadable(url, error) from None
    return files, path


def _opening(files: Any, path: str, url: str) -> Opening:
    @contextmanager
    def opening() -> Iterator[Iterator[bytes]]:
        try:
            file = files.open(path, "rb")
        except FileNotFoundError:
            raise SourceError(f"{shown(url)}: there is no such object", code="FILE_NOT_FOUND") from None
        except Exception as error:  # noqa: BLE001 (see objects)
            raise _unreadable(url, error) from None
        with file:
            yield _chunks(file, url)

    return opening


def _chunks(file: Any, url: str) -> Iterator[bytes]:
    while True:
        try:
            chunk = file.read(_CHUNK)
        except Exception as error:  # noqa: BLE001 (see objects)
            raise _unreadable(url, error) from None
        if not chunk:
            return
        yield chunk


def _unreadable(url: str, error: Exception) -> SourceError:
    text = str(error).splitlines()[0][:200] if str(error) else ""
    return SourceError(
        f"{shown(url)}: cannot be read: {type(error).__name__} {text}. Has this machine the right to it (the "
        "store's own variables or profile)?",
        code="CANNOT_READ",
    )
