"""Recordings in an object store, through fsspec: a real S3 client against an S3 server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tracetape
from tracetape.errors import SourceError

pytestmark = pytest.mark.optional

SAMPLES = Path(__file__).parents[1] / "recordings" / "samples"


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """An S3 with one bucket; its address and a login are in the environment, as for any S3 client."""
    import boto3
    from fsspec import get_filesystem_class
    from moto.server import ThreadedMotoServer

    get_filesystem_class("s3").clear_instance_cache()  # it remembers the address of a server before this one
    with pytest.MonkeyPatch.context() as patched:
        server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        patched.setenv("AWS_ACCESS_KEY_ID", "testing")
        patched.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patched.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patched.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        client = boto3.client("s3")
        client.create_bucket(Bucket="traces")
        for path in (SAMPLES / "broken" / "split").iterdir():
            client.put_object(Bucket="traces", Key=f"runs/{path.name}", Body=path.read_bytes())
        packed = (SAMPLES / "otlp" / "collector.jsonl.gz").read_bytes()
        client.put_object(Bucket="traces", Key="one/collector.jsonl.gz", Body=packed)
        client.put_object(Bucket="traces", Key="one/.hidden", Body=b"no trace")
        client.close()
        try:
            yield "s3://traces"
        finally:
            server.stop()


def test_an_object_is_read_as_a_file_would_be(bucket):
    recording = tracetape.load(f"{bucket}/one/collector.jsonl.gz")
    assert list(recording.spans) == list(tracetape.load(SAMPLES / "otlp" / "collector.jsonl.gz").spans)
    assert recording.source == "s3://traces/one/collector.jsonl.gz"


def test_all_below_a_prefix_is_one_source(bucket):
    assert len(tracetape.load(f"{bucket}/runs/").spans) == 7
    assert len(tracetape.load(f"{bucket}/one/").spans) == 7


def test_what_is_not_there_is_told(bucket):
    for missing in (f"{bucket}/two.jsonl", f"{bucket}/none/", "s3://nowhere/x"):
        with pytest.raises(SourceError) as caught:
            tracetape.load(missing)
        assert caught.value.code in ("FILE_NOT_FOUND", "CANNOT_READ")
        assert missing in str(caught.value)


def test_a_store_that_is_not_known_or_is_this_machine_is_refused():
    for url in ("zz9://bucket/x", "file:///etc/passwd", "memory://x", "simplecache::s3://b/x"):
        with pytest.raises(SourceError) as caught:
            tracetape.load(url)
        assert caught.value.code in ("UNKNOWN_SOURCE", "FILE_NOT_FOUND")
