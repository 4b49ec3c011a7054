#!/usr/bin/env bash
# Prints how fast captures are analysed, beside blkparse and btt: see
# scripts/bench-trace/main.go. Needs 1.1 GiB in TMPDIR.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p bin
scripts/with-go go build -o bin/bench-trace ./scripts/bench-trace
exec bin/bench-trace "$@"
