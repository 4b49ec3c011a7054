package database

import (
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
)

// PebbleParams are the parameters of the embedded server. Sizes are in bytes.
type PebbleParams struct {
	Cache       int64  `yaml:"cache,omitempty" jsonschema:"oneof_type=string;integer,default=8MiB" jsonschema_description:"block cache; what it misses is read through the page cache"`
	Memtable    int64  `yaml:"memtable,omitempty" jsonschema:"oneof_type=string;integer,default=16MiB" jsonschema_description:"writes that are gathered in memory before they become a file; up to four such are held"`
	Sync        bool   `yaml:"sync,omitempty" jsonschema:"default=true" jsonschema_description:"a write is answered once it is on the device; without, what ends the server or the host at once loses the last ones"`
	Compression string `yaml:"compression,omitempty" jsonschema:"enum=none,enum=snappy,enum=zstd,default=none" jsonschema_description:"of blocks; the values that are loaded do not compress"`
	Bloom       int    `yaml:"bloom,omitempty" jsonschema:"minimum=0,maximum=30,default=10" jsonschema_description:"bits of bloom filter for each key, on all levels but the last; 0 for none"`
	Compactions int    `yaml:"compactions,omitempty" jsonschema:"minimum=1,maximum=64,default=1" jsonschema_description:"compactions at the same time"`
	L0Stop      int    `yaml:"l0stop,omitempty" jsonschema:"minimum=4,maximum=1000,default=12" jsonschema_description:"sublevels of level 0 at which writes wait for compactions"`
	FileSize    int64  `yaml:"filesize,omitempty" jsonschema:"oneof_type=string;integer,default=32MiB" jsonschema_description:"size of the files that loading writes, and of the largest ones of compactions"`
}

// PebbleDefaults are the parameters of a server of which nothing is declared.
func PebbleDefaults() PebbleParams {
	return PebbleParams{Cache: 8 << 20, Memtable: 16 << 20, Sync: true, Compression: "none", Bloom: 10,
		Compactions: 1, L0Stop: 12, FileSize: 32 << 20}
}

// pebbleParams are all, in the order of PebbleParams and of the documentation. Their keys in
// experiment files are their flags too.
var pebbleParams = table[PebbleParams]{
	size("cache", 1<<20, 1<<40, func(p *PebbleParams) *int64 { return &p.Cache }),
	size("memtable", 1<<20, 1<<30, func(p *PebbleParams) *int64 { return &p.Memtable }),
	toggle("sync", func(p *PebbleParams) *bool { return &p.Sync }),
	choice("compression", []string{"none", "snappy", "zstd"}, func(p *PebbleParams) *string { return &p.Compression }),
	count("bloom", 0, 30, func(p *PebbleParams) *int { return &p.Bloom }),
	count("compactions", 1, 64, func(p *PebbleParams) *int { return &p.Compactions }),
	count("l0stop", 4, 1000, func(p *PebbleParams) *int { return &p.L0Stop }),
	size("filesize", 1<<20, 1<<30, func(p *PebbleParams) *int64 { return &p.FileSize }),
}

// PebbleKeys are the keys of all parameters, in the order of the documentation.
func PebbleKeys() []string { return pebbleParams.keys() }

// Set reads the value of one parameter. The error says what to write instead.
func (p *PebbleParams) Set(key, text string) error { return pebbleParams.set(p, key, text) }

// Get returns the value of one parameter as Set reads it, "" where there is no such
// one.
func (p PebbleParams) Get(key string) string { return pebbleParams.get(p, key) }

// decodePebble reads the YAML below the key "pebble".
func decodePebble(node *yaml.Node) (Server, problem.List) {
	p, problems := pebbleParams.decode("pebble", "{cache: 64MiB, sync: false}", node, PebbleDefaults())
	if len(problems) > 0 {
		return nil, problems
	}
	return &pebble{p}, nil
}
