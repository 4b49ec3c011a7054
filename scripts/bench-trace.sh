#!/usr/bin/env bash
# Prints how fast `plimsoll trace analyze` is, beside blkparse and btt: see
# scripts/bench-trace/main.go. Needs 400 MB in TMPDIR.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p bin
scripts/with-go go build -o bin/bench-trace ./scripts/bench-trace
scripts/with-go go build -o bin/bench-trace-plimsoll ./cmd/plimsoll
exec bin/bench-trace -plimsoll "$PWD/bin/bench-trace-plimsoll" "$@"
