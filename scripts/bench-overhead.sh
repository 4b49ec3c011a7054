#!/usr/bin/env bash
# Prints what plimsoll costs: see scripts/bench-overhead/main.go. Needs root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec scripts/as-root scripts/with-go go run ./scripts/bench-overhead "$@"
