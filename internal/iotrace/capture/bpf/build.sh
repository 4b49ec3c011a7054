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
build() { # build PROGRAM KIND [DEFINE]
	# $3 is one word or none.
	clang -target bpfel -mcpu=v3 -O2 -g -Wall -Werror ${3-} \
		-ffile-prefix-map="$PWD"=. -fdebug-compilation-dir=. \
		-I"/usr/include/$(uname -m)-linux-gnu" \
		-c "$1.bpf.c" -o "$to/$1_$2.o"
	llvm-strip -g "$to/$1_$2.o"
}
for program in record events tally; do
	build $program btf
	build $program raw -DRAW
done
build target raw -DRAW
{
	clang --version | head -n 1
	sha256sum build.sh *.h *.bpf.c
} >"$to/build.txt"
