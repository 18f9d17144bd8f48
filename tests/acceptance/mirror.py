"""Prints what a program can see of how it was started; its first argument says how it ends."""

import asyncio
import atexit
import inspect
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tracetape

counted: int = 1


class Order:
    """A class of `__main__`, as pickle and other processes have to find it."""

    def __init__(self, symbol, quantity):
        self.symbol, self.quantity = symbol, quantity

    def __repr__(self):
        return f"{type(self).__module__}.Order({self.symbol!r}, {self.quantity})"


class Kept:
    """Told when it goes."""

    def __del__(self):
        print("kept until the end", flush=True)


@tracetape.boundary("answer", kind="llm")
def answer(question):
    return {"question": question, "order": ["ACME", 5]}


def doubled(order):
    return Order(order.symbol, order.quantity * 2)


def seen_by_a_child(order):
    main = sys.modules["__main__"]
    return [type(order) is Order, order, sys.argv, sys.path, __name__, main.__file__, main.__name__]


def failing(depth):
    """Raises, some calls down."""
    if depth:
        failing(depth - 1)
    try:
        int("five")
    except ValueError as error:
        raise KeyError("no such number") from error


def show_module():
    print(__name__, __file__, __package__, __doc__, __annotations__ if sys.version_info < (3, 14) else "")
    spec, loader = globals()["__spec__"], globals()["__loader__"]
    print(spec and (spec.name, spec.origin, spec.parent, spec.cached, type(spec.loader)))
    print(type(loader), loader.name, loader.path, len(loader.get_source(loader.name)))
    print(sorted(globals()), type(__builtins__))
    print(sys.modules["__main__"].__dict__ is globals())
    print(
        inspect.getsource(doubled), inspect.getfile(doubled), inspect.getmodule(doubled) is sys.modules[__name__]
    )
    print(doubled.__code__.co_filename, doubled.__code__.co_flags, inspect.getsource(sys.modules[__name__])[:9])


def show_interpreter():
    print(sys.argv, sys.path, sys.executable, sys.flags, sys.warnoptions, sys._xoptions, __debug__)
    print(sys.excepthook is sys.__excepthook__, sys.displayhook, sys.getrecursionlimit(), sys.dont_write_bytecode)
    print([one.isatty() for one in (sys.stdin, sys.stdout, sys.stderr)], sys.stdout.encoding, sys.stderr.errors)
    print({number: signal.getsignal(number) for number in signal.valid_signals()})
    print(warnings.filters, logging.getLogger().handlers, logging.getLogger().level)
    print([one.name for one in threading.enumerate()], threading.current_thread() is threading.main_thread())
    print({name: value for name, value in os.environ.items() if not name.startswith("TRACETAPE_")}, Path.cwd())


def show_pickles():
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        kept = pickle.dumps([Order("ACME", 5), doubled, Order], protocol)
        order, function, kind = pickle.loads(kept)
        print(kept, order, function is doubled, kind is Order, type(order) is Order)


def show_processes():
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, pool.map(doubled, [Order("ACME", 5)]), pool.map(seen_by_a_child, [Order("ACME", 5)]))


def show_failures():
    try:
        failing(2)
    except KeyError:
        print(traceback.format_exc())
    thread = threading.Thread(target=failing, args=(1,))
    thread.start()
    thread.join()


def show_told():
    warnings.warn("this is old", DeprecationWarning, stacklevel=1)
    warnings.warn("nobody sees this", ResourceWarning, stacklevel=1)
    warnings.warn("of a user", UserWarning, stacklevel=2)
    logging.getLogger("mirror").warning("without a handler")
    logging.warning("with the basic one")


async def sleep():
    await asyncio.sleep(0)
    task = asyncio.current_task()
    return task and task.get_name(), type(asyncio.get_running_loop())


def last(word):
    print("at exit", word, sys.modules["__main__"].__dict__ is globals(), flush=True)


def after_the_main_thread():
    threading.main_thread().join()
    print("the main thread is over", flush=True)


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()


ENDS = {
    "well": lambda: None,
    "exit": sys.exit,
    "exit-3": lambda: sys.exit(3),
    "exit-256": lambda: sys.exit(256),
    "exit--1": lambda: sys.exit(-1),
    "exit-text": lambda: sys.exit("a text"),
    "exit-pair": lambda: sys.exit((1, 2)),  # type: ignore[arg-type]
    "raise": lambda: failing(2),
    "interrupt": interrupt,
    "terminate": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "at-once": lambda: os._exit(7),
}


def main():
    print(answer("what?"))
    show_module()
    show_interpreter()
    show_pickles()
    show_failures()
    show_told()
    print(asyncio.run(sleep()))
    print(repr(sys.stdin.read()))
    with ThreadPoolExecutor(1) as pool:
        print(pool.submit(doubled, Order("ACME", 5)).result())
    if "processes" in sys.argv:
        show_processes()
    atexit.register(last, "first")
    atexit.register(last, "second")
    sys.stdout.flush()
    ENDS[sys.argv[1]]()


kept = Kept()
if __name__ == "__main__":
    main()
