"""Records the incident against the scripted model server: python record_incident.py [PATH]."""

from __future__ import annotations

import os
import sys

from agent import run_agent
from as_it_ran import place_order
from model_server import ModelServer

import tracetape

USER_MESSAGE = "Sell about $1,000 of ACME stock"


def main(path: str) -> None:
    with ModelServer() as server:
        os.environ["OPENAI_BASE_URL"] = server.url
        with tracetape.record(path, name="broker"):
            print(run_agent(USER_MESSAGE, place_order))
        print(f"model requests: {server.requests}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "incident.otlp.jsonl")
