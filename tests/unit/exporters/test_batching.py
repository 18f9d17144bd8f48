"""The span processor: its thread, its queue, its end."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider, sampling

from tests.unit.exporters.spans import Receiver, tracer_of
from tracetape.exporters.batching import BatchingProcessor


def processor(receiver: Receiver, **changed: Any) -> BatchingProcessor:
    told: dict[str, Any] = {
        "most_bytes": 100_000,
        "most_spans": 100,
        "queue_bytes": 2**20,
        "delay": 60.0,
        "exit_seconds": 1.0,
    }
    return BatchingProcessor(lambda: receiver, **{**told, **changed})


def end(processor: Any, *names: str, size: int = 10) -> None:
    tracer = tracer_of(processor)
    for name in names:
        tracer.start_span(name, attributes={"text": "x" * size}).end()


def wait_for(true: Any, seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)


class Stuck(Receiver):
    """Takes nothing until it is shut down, as an exporter does that tries again and again."""

    def export(self, spans: Any) -> Any:
        self.ended.wait(30)
        self.is_there = False
        return super().export(spans)


def test_a_request_goes_after_the_delay() -> None:
    receiver = Receiver()
    sending = processor(receiver, delay=0.01)
    end(sending, "one")
    wait_for(lambda: receiver.got == ["one"])
    sending.shutdown()


def test_a_full_request_does_not_wait_for_it() -> None:
    receiver = Receiver()
    sending = processor(receiver, most_spans=3)
    end(sending, "a", "b", "c")
    wait_for(lambda: receiver.got == ["a", "b", "c"])
    sending.shutdown()


def test_no_thread_before_the_first_span() -> None:
    sending = processor(Receiver())
    assert sending._worker is None
    assert sending.force_flush()
    sending.shutdown()


def test_the_thread_is_a_daemon_and_makes_no_spans_of_its_own() -> None:
    seen = []

    class Looking(Receiver):
        def export(self, spans: Any) -> Any:
            from opentelemetry import context

            seen.append(
                (threading.current_thread().daemon, context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY))
            )
            return super().export(spans)

    sending = processor(Looking())
    end(sending, "one")
    sending.shutdown()
    assert seen == [(True, True)]


class TestFlush:
    def test_true_where_all_of_it_was_taken(self) -> None:
        receiver = Receiver()
        sending = processor(receiver)
        end(sending, "one", "two")
        assert sending.force_flush(10_000)
        assert receiver.got == ["one", "two"]
        sending.shutdown()

    def test_false_where_nobody_is_there(self) -> None:
        receiver = Receiver()
        receiver.is_there = False
        sending = processor(receiver)
        end(sending, "one")
        assert not sending.force_flush(10_000)
        receiver.is_there = True
        assert sending.force_flush(10_000)
        assert receiver.got == ["one"]
        sending.shutdown()

    def test_false_where_one_was_refused(self) -> None:
        receiver = Receiver(limit=200_000)
        sending = processor(receiver)
        end(sending, "large", size=300_000)
        assert not sending.force_flush(10_000)
        assert sending.drops.count_of("refused") == 1
        sending.shutdown()

    def test_false_once_where_one_was_refused_before(self) -> None:
        receiver = Receiver(limit=200_000)
        sending = processor(receiver)
        end(sending, "large", size=300_000)
        assert not sending.force_flush(10_000)
        assert sending.force_flush(10_000)
        end(sending, "large again", size=300_000)
        sending._calls.put(None)  # as a full request does
        deadline = time.monotonic() + 30
        while sending.drops.count_of("refused") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not sending.force_flush(10_000)
        end(sending, "small")
        assert sending.force_flush(10_000)
        sending.shutdown()

    def test_it_keeps_to_its_time(self) -> None:
        receiver = Stuck()
        sending = processor(receiver)
        end(sending, "one")
        began = time.monotonic()
        assert not sending.force_flush(50)
        assert time.monotonic() - began < 5
        sending.shutdown()

    def test_after_the_end_it_says_whether_anything_is_left(self) -> None:
        sending = processor(Receiver())
        end(sending, "one")
        sending.shutdown()
        assert sending.force_flush()


class TestTheQueue:
    def test_what_has_no_room_is_dropped_and_counted(self, caplog: pytest.LogCaptureFixture) -> None:
        receiver = Receiver()
        receiver.is_there = False
        sending = processor(receiver, queue_bytes=10_000)
        end(sending, *map(str, range(20)), size=1_000)
        assert sending.drops.count_of("full") > 5
        kept = 20 - sending.drops.count_of("full")
        receiver.is_there = True
        assert sending.force_flush(10_000)
        assert receiver.got == [str(number) for number in range(kept)]
        sending.shutdown()
        said = [record.getMessage() for record in caplog.records]
        assert len(said) == 2
        assert "bytes of them wait for the receiver" in said[0]
        assert f"{20 - kept} dropped because too many waited" in said[1]

    def test_one_that_is_larger_than_all_of_it_still_comes_in(self) -> None:
        receiver = Receiver()
        sending = processor(receiver, queue_bytes=1_000)
        end(sending, "large", size=300_000)
        assert sending.force_flush(10_000)
        assert receiver.got == ["large"]
        sending.shutdown()

    def test_many_threads_at_once(self) -> None:
        receiver = Receiver()
        sending = processor(receiver, queue_bytes=2**27, most_spans=64)
        tracer = tracer_of(sending)

        def work(number: int) -> None:
            for one in range(500):
                tracer.start_span(f"{number}-{one}").end()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sending.force_flush(30_000)
        assert sorted(receiver.got) == sorted(f"{a}-{b}" for a in range(8) for b in range(500))
        assert (sending._queue.bytes, sending._queue.count) == (0, 0)
        sending.shutdown()

    def test_a_signal_handler_that_ends_spans_does_not_deadlock(self) -> None:
        receiver = Receiver()
        sending = processor(receiver, queue_bytes=2**27, most_spans=8)
        tracer = tracer_of(sending)
        count = 0

        def handler(number: int, frame: Any) -> None:
            nonlocal count
            count += 1
            tracer.start_span("from the handler").end()

        before = signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        made = 0
        try:
            while count < 100:
                tracer.start_span("s").end()
                made += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert sending.force_flush(30_000)
        assert len(receiver.got) == made + count
        sending.shutdown()

    def test_unsampled_spans_do_not_come_in(self) -> None:
        receiver = Receiver()
        sending = processor(receiver)
        provider = TracerProvider(sampler=sampling.ALWAYS_OFF, shutdown_on_exit=False)
        provider.add_span_processor(sending)
        provider.get_tracer("t").start_span("one").end()
        sending.on_end(trace_less())
        sending.shutdown()
        assert receiver.asked == []


class TestTheEnd:
    def test_what_waits_is_sent(self) -> None:
        receiver = Receiver()
        sending = processor(receiver)
        end(sending, "one")
        sending.shutdown()
        assert receiver.got == ["one"]
        assert receiver.ended.is_set()

    @pytest.mark.parametrize("receiver", [Stuck(), Receiver(lambda span: True)], ids=["stuck", "refusing"])
    def test_a_receiver_that_takes_nothing_is_not_waited_for(
        self, receiver: Receiver, caplog: pytest.LogCaptureFixture
    ) -> None:
        sending = processor(receiver, exit_seconds=0.5)
        end(sending, "one", "two")
        began = time.monotonic()
        sending.shutdown()
        assert time.monotonic() - began < 5
        assert caplog.records[-1].getMessage().startswith("tracetape: 2 of 2 spans were not exported: ")

    def test_one_that_takes_spans_is_waited_for(self) -> None:
        class Slow(Receiver):
            def export(self, spans: Any) -> Any:
                time.sleep(0.2)
                return super().export(spans)

        receiver = Slow()
        sending = processor(receiver, most_spans=1, exit_seconds=0.5)
        end(sending, *"abcdef")
        sending.shutdown()
        assert receiver.got == list("abcdef")

    def test_what_ends_after_it_is_counted(self, caplog: pytest.LogCaptureFixture) -> None:
        sending = processor(Receiver())
        sending.shutdown()
        end(sending, "late", "later")
        assert sending.drops.count_of("late") == 2
        assert len(caplog.records) == 1
        assert "it ended after the provider was shut down" in caplog.records[0].getMessage()

    def test_twice_is_once(self, caplog: pytest.LogCaptureFixture) -> None:
        receiver = Receiver()
        receiver.is_there = False
        sending = processor(receiver, exit_seconds=0.2)
        end(sending, "one")
        sending.shutdown()
        sending.shutdown()
        assert len(caplog.records) == 1

    def test_a_processor_that_nobody_has_is_forgotten(self) -> None:
        sending = weakref.ref(processor(Receiver()))
        gc.collect()
        assert sending() is None


@pytest.mark.filterwarnings("ignore:This process.* is multi-threaded:DeprecationWarning")
class TestAFork:
    def run_in_child(self, work: Any) -> str:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.write(write, str(work()).encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            told = pipe.read()
        os.waitpid(child, 0)
        return told

    def test_both_sides_send_what_is_theirs(self) -> None:
        made: list[Receiver] = []

        def make() -> Receiver:
            made.append(Receiver())
            return made[-1]

        sending = BatchingProcessor(
            make, most_bytes=10_000, most_spans=100, queue_bytes=10_000, delay=60, exit_seconds=1
        )
        end(sending, "parent's")

        def work() -> Any:
            assert sending._worker is None
            end(sending, "child's")
            assert sending.force_flush(10_000)
            return made[-1].got

        assert self.run_in_child(work) == '["child\'s"]'
        assert sending.force_flush(10_000)
        assert made[0].got == ["parent's"]
        sending.shutdown()

    def test_a_fork_while_it_sends_hangs_nobody(self) -> None:
        receiver = Receiver()
        sending = processor(receiver, delay=0.001, most_spans=2, queue_bytes=2**27)
        tracer = tracer_of(sending)

        def work() -> Any:
            tracer.start_span("child's").end()
            return sending.force_flush(10_000)

        for _ in range(20):
            for _ in range(20):
                tracer.start_span("parent's").end()
            assert self.run_in_child(work) == "True"
        assert sending.force_flush(10_000)
        assert len(receiver.got) == 400
        sending.shutdown()


def trace_less() -> Any:
    from opentelemetry.sdk.trace import ReadableSpan

    return ReadableSpan("s", context=trace.INVALID_SPAN_CONTEXT)


def test_where_no_thread_can_be_had_the_program_goes_on_and_the_next_span_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receiver = Receiver()
    sending = processor(receiver, delay=0.01)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    tracer = tracer_of(sending)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        tracer.start_span("one").end()
    assert receiver.got == []
    tracer.start_span("two").end()
    wait_for(lambda: receiver.got == ["one", "two"])
    sending.shutdown()
