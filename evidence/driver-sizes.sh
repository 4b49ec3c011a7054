#!/usr/bin/env bash
# Prints what each database's driver adds to the binary: its size with the client, less its size where the client's file
# is another one that does nothing.
#
#     make bench NAME=drivers
set -euo pipefail
shopt -s inherit_errexit
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"

# built OVERLAY: the size of the binary, in bytes.
built() {
	scripts/with-go go build -overlay "$1" -ldflags "-s -w" -o "$work/plimsoll" ./cmd/plimsoll
	stat -c %s "$work/plimsoll"
}

# without FILE LINE...: an overlay where a client's file has these lines in place of its own.
without() {
	local file=$root/internal/database/client/$1
	shift
	{
		echo "package client"
		printf '%s\n' "$@"
	} >"$work/stub.go"
	printf '{"Replace": {"%s": "%s"}}' "$file" "$work/stub.go" >"$work/overlay.json"
}

echo '{}' >"$work/overlay.json"
all=$(built "$work/overlay.json")
echo "| driver | adds to the binary of $((all / 1024 / 1024)) MiB |"
echo "|---|---|"
imports='import ("context"; "errors"; "plimsoll/internal/database")'
load='(context.Context, database.Address, database.Dataset, map[string]string) error { return errors.ErrUnsupported }'
dial='(context.Context, Config) (Client, error) { return nil, errors.ErrUnsupported }'
asks='(context.Context, database.Address) error { return errors.ErrUnsupported }'
row() { # row DRIVER FILE NAME LINE...
	local driver=$1 file=$2 name=$3
	shift 3
	without "$file" "$imports" "func dial$name$dial" "func load$name$load" "func ${name,}Answers$asks" "$@"
	local less
	less=$(built "$work/overlay.json")
	echo "| $driver | $(((all - less) / 1024)) KiB |"
}
row "mongo-driver" mongodb.go Mongodb
row "gocql" cassandra.go Cassandra
row "go-sql-driver/mysql" mysql.go Mysql 'func mysqlDialect(Config, string) dialect { return dialect{} }'
row "pgx" postgresql.go Postgresql 'func postgresqlDialect(Config, string) dialect { return dialect{} }'
