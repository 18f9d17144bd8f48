"""What a call is answered with: the recorded outcome, or the plan's patch of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from tracetape.codec.reader import Reader
from tracetape.errors import SourceError, ValueNotRebuilt
from tracetape.model.call import BoundarySpec, Outcome, Raised, Returned, Streamed
from tracetape.model.plan import PlanEntry
from tracetape.model.report import Step
from tracetape.replayer import messages
from tracetape.replayer.adopted import Adopted
from tracetape.replayer.outcomes import Shape, recorded_shape
from tracetape.replayer.serving import patched_outcome, recorded_outcome, recorded_result
from tracetape.replayer.stubs import Stub, plainly

__all__ = ["Answering"]


class Answering:
    """Of one replay.

    adopted:   where the recording is of others.
    halt:      halts, told the kind of divergence, a boundary's name and the text.
    end:       ends the replay at a step, where the recording ends.
    served:    told of each stub whose recorded outcome goes to the program.
    """

    def __init__(
        self,
        reader: Reader,
        adopted: Adopted | None,
        halt: Callable[[str, str, str], NoReturn],
        end: Callable[[Step], NoReturn],
        served: Callable[[Stub], None],
    ) -> None:
        self._reader, self._adopted = reader, adopted
        self._halt, self._end, self._served = halt, end, served

    def outcome(self, spec: BoundarySpec, step: Step, stub: Stub, patch: PlanEntry | None) -> Outcome:
        """Also adds the notes on what could not be compared, or given whole, to the step."""

        def missing(path: str, type_name: str) -> NoReturn:
            self._halt("unusable", step.name, messages.not_stored(step.name, path, type_name))

        reader = self._reader.told(missing)
        try:
            if patch is not None:
                outcome = self._patched(spec, step, stub, reader, patch.patch)
            else:
                outcome = recorded = self._recorded(step, stub, reader)
                if self._adopted is not None:
                    outcome = self._adopted.outcome(spec, recorded)
                    is_half = isinstance(recorded, Streamed) and recorded.end == "abandoned"
                    if is_half and isinstance(outcome, Returned):
                        step.notes = (*step.notes, messages.HALF_A_STREAM)
                self._served(stub)
        except (ValueNotRebuilt, SourceError) as error:
            step.mode = "halted"
            self._halt("unusable", step.name, messages.not_rebuilt(step.name, str(error)))
        status = stub.crossing.error_status if isinstance(outcome, Raised) else None
        if status is not None and isinstance(outcome, Raised) and not hasattr(outcome.error, "status_code"):
            # As the errors of the SDKs have it: programs ask for it.
            with contextlib.suppress(Exception):
                outcome.error.status_code = status  # type: ignore[attr-defined]
        if not stub.has_inputs or reader.gaps:
            step.notes = (*step.notes, *_not_compared(stub), *(gap.text for gap in reader.gaps))
        return outcome

    def recorded_shape(self, spec: BoundarySpec, step: Step) -> Shape | None:
        """What the outcome of a call that ran is compared with; None where there is nothing to compare."""
        crossing = step.recorded
        if crossing is None:
            return None
        if self._adopted is None:
            return recorded_shape(crossing)

        def exhausted() -> NoReturn:
            raise ValueNotRebuilt("it has no end")

        return self._adopted.shape(spec, partial(recorded_outcome, crossing, self._reader, exhausted))

    def _patched(self, spec: BoundarySpec, step: Step, stub: Stub, reader: Reader, patch: Any) -> Outcome:
        if self._adopted is not None:
            return self._adopted.patched(spec, patch, reader, partial(self._recorded, step, stub, reader))
        crossing = stub.crossing
        recorded = partial(recorded_result, crossing, reader)
        streamed = crossing.outcome == "streamed"
        return patched_outcome(patch, reader, recorded, shape=crossing.shape, streamed=streamed)

    def _recorded(self, step: Step, stub: Stub, reader: Reader) -> Outcome:
        returned = stub.returned
        if returned is not None:  # as most do: for these no crossing is made
            plain = plainly(returned)
            if plain is not None and self._adopted is None:
                step.came_back = stub.plain_result
            return plain or Returned(reader.value(returned[0]), returned[1])
        crossing = stub.crossing
        if crossing.outcome == "unfinished":
            self._end(step)

        def exhausted() -> NoReturn:
            if not step.after_cut:
                wanted = messages.not_cancelled if crossing.outcome == "cancelled" else messages.exhausted
                self._halt("unrecorded", step.name, wanted(step.name))
            self._end(step)

        return recorded_outcome(crossing, reader, exhausted)


def _not_compared(stub: Stub) -> tuple[str, ...]:
    """A crossing without inputs fits any call: that is said, with the reason."""
    crossing = stub.crossing
    if crossing.input is not None:
        return ()
    why = "; ".join(gap.text for gap in crossing.gaps if "input" in gap.text) or "none are in the recording"
    return (f"its inputs were not compared: {why}",)
