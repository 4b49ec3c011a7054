#!/usr/bin/env bash
# Compiles the programs that record, for every little-endian machine at once:
# nothing in them is of one architecture. Run by `go generate`; needs clang,
# llvm-strip and libbpf's headers. What it makes is committed, so that to build
# plimsoll needs none of these; build.txt says what it was made from, and with.
#
#     build.sh [DIRECTORY]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
to=${1-.}

export LC_ALL=C
for program in record events; do
	for kind in btf raw; do
		define=
		if [ $kind = raw ]; then define=-DRAW; fi
		# $define is one word or none.
		clang -target bpfel -mcpu=v3 -O2 -g -Wall -Werror $define \
			-ffile-prefix-map="$PWD"=. -fdebug-compilation-dir=. \
			-I"/usr/include/$(uname -m)-linux-gnu" \
			-c $program.bpf.c -o "$to/${program}_$kind.o"
		llvm-strip -g "$to/${program}_$kind.o"
	done
done
{
	clang --version | head -n 1
	sha256sum build.sh *.h *.bpf.c
} >"$to/build.txt"
