"""What a receiver refuses harms nothing else; what cannot be sent waits."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.unit.exporters.spans import Receiver, made, spans
from tracetape.exporters.drops import REFUSED, Drops, LocalFiles
from tracetape.exporters.queueing import SpanQueue, Waiting
from tracetape.exporters.sending import Sender, is_refused

LIMIT = 10_000


def sender(receiver: Receiver, *waiting: Any, most_spans: int = 100) -> Sender:
    queue = SpanQueue(2**30, LIMIT)
    for span in waiting:
        assert queue.put(Waiting(span))
    return Sender(lambda: receiver, queue, Drops(LocalFiles()), LIMIT, most_spans)


def dropped(one: Sender) -> int:
    return one._drops.count_of(REFUSED)


def left(one: Sender) -> list[str]:
    return [waiting.span.name for waiting in one._queue.rest()]


class TestRequests:
    def test_are_cut_by_bytes(self) -> None:
        receiver = Receiver(limit=LIMIT)
        assert sender(receiver, *spans(50, 1_000)).drain()
        assert receiver.got == [f"s{number}" for number in range(50)]
        assert max(map(len, receiver.asked)) > 5, "they are as full as they may be"

    def test_are_cut_by_count(self) -> None:
        receiver = Receiver()
        assert sender(receiver, *spans(50, 10), most_spans=7).drain()
        assert [len(one) for one in receiver.asked] == [7] * 7 + [1]

    def test_a_span_over_the_limit_goes_alone_when_nothing_else_waits(self) -> None:
        receiver = Receiver()
        assert sender(receiver, made("large", 2 * LIMIT), *spans(3)).drain()
        assert receiver.asked == [["s0", "s1", "s2"], ["large"]]

    def test_nothing_to_send_asks_nobody(self) -> None:
        receiver = Receiver()
        assert sender(receiver).drain()
        assert receiver.asked == []


class TestARefusedSpan:
    @pytest.mark.parametrize("position", [0, 1, 25, 49])
    def test_harms_none_of_its_neighbours(self, position: int, caplog: pytest.LogCaptureFixture) -> None:
        receiver = Receiver(lambda span: span.name == "bad")
        waiting = spans(50)
        waiting[position] = made("bad")
        sending = sender(receiver, *waiting)
        for _ in range(4):
            sending.drain()
        assert sorted(receiver.got) == sorted(span.name for span in waiting if span.name != "bad")
        assert dropped(sending) == 1
        assert left(sending) == []
        assert [record.getMessage() for record in caplog.records] == [
            f"tracetape: a span was not exported: the receiver refuses 'bad' of {Waiting(made('bad')).size} "
            "bytes. More of this kind are counted; the sum is said at exit"
        ]

    def test_is_found_with_few_requests(self) -> None:
        receiver = Receiver(lambda span: span.name == "bad")
        waiting = spans(99, 10)
        waiting[70] = made("bad", 20)
        sending = sender(receiver, *waiting)
        for _ in range(4):
            sending.drain()
        assert dropped(sending) == 1
        assert len(receiver.asked) < 30

    def test_several_are_all_found(self) -> None:
        receiver = Receiver(lambda span: "bad" in span.name)
        waiting = [made(f"{'bad' if number % 10 == 3 else 'good'}{number}") for number in range(50)]
        sending = sender(receiver, *waiting)
        for _ in range(4):
            sending.drain()
        assert len(receiver.got) == 45
        assert dropped(sending) == 5

    def test_a_large_one_is_given_up_in_one_round(self) -> None:
        receiver = Receiver(limit=LIMIT)
        sending = sender(receiver, made("large", 2 * LIMIT), *spans(5))
        sending.drain()
        assert len(receiver.got) == 5
        assert dropped(sending) == 1
        assert sum(one == ["large"] for one in receiver.asked) == 2

    def test_a_large_one_alone_is_given_up_where_the_receiver_answers_to_nothing(self) -> None:
        receiver = Receiver(limit=LIMIT)
        sending = sender(receiver, made("large", 2 * LIMIT))
        sending.drain()
        assert dropped(sending) == 1


class TestNobodyThere:
    def test_all_of_it_waits(self) -> None:
        receiver = Receiver()
        receiver.is_there = False
        sending = sender(receiver, *spans(50), made("large", 2 * LIMIT))
        for _ in range(10):
            assert not sending.drain()
        assert dropped(sending) == 0
        assert len(left(sending)) == 51
        receiver.is_there = True
        assert sending.drain()
        assert len(receiver.got) == 51

    def test_few_requests_are_made(self) -> None:
        receiver = Receiver()
        receiver.is_there = False
        sender(receiver, *spans(50)).drain()
        assert len(receiver.asked) == 3

    def test_one_that_only_raises_is_one_that_is_not_there(self, caplog: pytest.LogCaptureFixture) -> None:
        class Raising(Receiver):
            def export(self, spans: Any) -> Any:
                raise ConnectionError("nobody listens")

        sending = sender(Raising(), *spans(3))
        for _ in range(3):
            assert not sending.drain()
        assert len(left(sending)) == 3
        assert [record.getMessage() for record in caplog.records] == [
            "tracetape: the exporter raised ConnectionError: nobody listens; spans wait"
        ]

    def test_a_span_that_failed_while_nobody_was_there_is_not_suspected_for_it(self) -> None:
        receiver = Receiver()
        receiver.is_there = False
        sending = sender(receiver, made("one"))
        for _ in range(5):
            sending.drain()
        receiver.is_there = True
        assert sending.drain()
        assert receiver.got == ["one"]


def test_a_lower_limit_of_the_receiver_is_learned() -> None:
    receiver = Receiver(limit=70_000)
    queue = SpanQueue(2**30, 1_000_000)
    for span in spans(400, 1_000):
        queue.put(Waiting(span))
    sending = Sender(lambda: receiver, queue, Drops(LocalFiles()), 1_000_000, 512)
    assert sending.drain()
    first = len(receiver.asked)
    for span in spans(400, 1_000):
        queue.put(Waiting(span))
    assert sending.drain()
    assert len(receiver.got) == 800
    assert len(receiver.asked) - first < 20


def test_stop_ends_the_exporter_and_sends_no_more() -> None:
    receiver = Receiver()
    sending = sender(receiver, *spans(3))
    sending.drain()
    sending.stop(1)
    assert receiver.ended.is_set()
    sending._queue.put(Waiting(made()))
    assert not sending.drain()
    assert len(receiver.asked) == 1


def test_an_exporter_that_does_not_come_back_from_its_end_is_left() -> None:
    import threading

    held = threading.Event()

    class Stuck(Receiver):
        def shutdown(self) -> None:
            held.wait(10)

    sending = sender(Stuck(), *spans(1))
    sending.drain()
    sending.stop(0.05)
    held.set()


@pytest.mark.parametrize(
    ("alone", "is_large", "takes_others", "refused"),
    [
        (1, True, True, False),
        (2, True, True, True),
        (2, False, True, False),
        (3, False, True, True),
        (100, True, False, False),
        (100, False, False, False),
    ],
)
def test_when_a_span_is_given_up(alone: int, is_large: bool, takes_others: bool, refused: bool) -> None:
    assert is_refused(alone, is_large=is_large, receiver_takes_others=takes_others) is refused


class TestSayingIt:
    def drops(self, *, always: str | None = None) -> Drops:
        return Drops(LocalFiles(always))

    def test_nothing_where_nothing_was_dropped(self, caplog: pytest.LogCaptureFixture) -> None:
        drops = self.drops()
        drops.say_total(1_000)
        assert drops.total(1_000) == ""
        assert caplog.records == []

    def test_each_kind_once_and_a_total(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.WARNING)
        drops = self.drops()
        for _ in range(1_500):
            drops.add("full", made(), lambda: "128 bytes of them wait for the receiver")
        drops.add("refused", made(), lambda: "the receiver refuses it")
        drops.say_total(500)
        assert [record.getMessage() for record in caplog.records] == [
            "tracetape: a span was not exported: 128 bytes of them wait for the receiver. More of this kind are "
            "counted; the sum is said at exit",
            "tracetape: a span was not exported: the receiver refuses it. More of this kind are counted; the sum "
            "is said at exit",
            "tracetape: 1,501 of 2,001 spans were not exported: 1 refused by the receiver, 1,500 dropped because "
            "too many waited. No local file has them: they are lost.",
        ]

    def test_what_a_file_has_is_not_lost(self) -> None:
        drops = self.drops(always="/runs")
        drops.add("unsent", made())
        assert drops.total(0) == (
            "1 of 1 spans were not exported: 1 not taken by the receiver before the program ended. All of them "
            "are in /runs."
        )

    def test_what_an_open_recording_has_is_not_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from types import SimpleNamespace

        inside, outside = made(), made()
        run = SimpleNamespace(trace_id=f"{inside.context.trace_id:032x}", path="run.otlp.jsonl")
        files = LocalFiles()
        monkeypatch.setattr("tracetape._sessions.opened_recordings", lambda: (run,))
        for span in (inside, outside):
            files.note(span.context.trace_id)
        drops = Drops(files)
        for span in (inside, outside):
            drops.add("unsent", span)
        assert drops.total(0).endswith("1 of them are in run.otlp.jsonl; no local file has the other 1: lost.")
