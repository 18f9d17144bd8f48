#!/usr/bin/env bash
# Writes the locks again, with hashes and without any index address:
#   core.lock     what users run          dev.lock     what developers and CI run
#   oldest.lock   the lower bounds of pyproject.toml, which CI tests too
set -euo pipefail
cd "$(dirname "$0")/.."
common=(--universal --generate-hashes --no-emit-index-url --no-header --no-annotate --python-version 3.11 --quiet "$@")
uv pip compile pyproject.toml --group build -o requirements/core.lock "${common[@]}"
uv pip compile pyproject.toml --group build --group test --group check -c requirements/core.lock -o requirements/dev.lock "${common[@]}"
uv pip compile pyproject.toml --group build --group test --resolution lowest-direct -o requirements/oldest.lock "${common[@]}"
sed -n 's/^\([A-Za-z0-9_.-]*==[^ ]*\).*/\1/p' requirements/dev.lock > requirements/constraints.txt
