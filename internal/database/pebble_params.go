package database

import (
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
)

// PebbleParams are the parameters of the embedded server. Sizes are in bytes.
type PebbleParams struct {
	Cache       int64
	Memtable    int64
	Sync        bool
	Compression string
	Bloom       int
	Compactions int
	L0Stop      int
	FileSize    int64
}

// PebbleDefaults are the parameters of a server of which nothing is declared.
func PebbleDefaults() PebbleParams {
	return PebbleParams{Cache: 8 << 20, Memtable: 16 << 20, Sync: true, Compression: "none", Bloom: 10,
		Compactions: 1, L0Stop: 12, FileSize: 32 << 20}
}

// pebbleParams are all, in the order of PebbleParams and of the documentation. Their keys in
// experiment files are their flags too.
var pebbleParams = field.Table[PebbleParams]{
	field.Of("cache", "block cache; what it misses is read through the page cache",
		sizeKind(1<<20, 1<<40), func(p *PebbleParams) *int64 { return &p.Cache }),
	field.Of("memtable",
		"writes that are gathered in memory before they become a file; up to four such are held",
		sizeKind(1<<20, 1<<30), func(p *PebbleParams) *int64 { return &p.Memtable }),
	field.Of("sync",
		"a write is answered once it is on the device; without, what ends the server or the host at once "+
			"loses the last ones",
		field.Switch, func(p *PebbleParams) *bool { return &p.Sync }),
	field.Of("compression", "of blocks; the values that are loaded do not compress",
		field.OneOf("none", "snappy", "zstd"), func(p *PebbleParams) *string { return &p.Compression }),
	field.Of("bloom",
		"bits of bloom filter for each key, on all levels but the last; 0 for none",
		field.Count(0, 30), func(p *PebbleParams) *int { return &p.Bloom }),
	field.Of("compactions", "compactions at the same time",
		field.Count(1, 64), func(p *PebbleParams) *int { return &p.Compactions }),
	field.Of("l0stop", "sublevels of level 0 at which writes wait for compactions",
		field.Count(4, 1000), func(p *PebbleParams) *int { return &p.L0Stop }),
	field.Of("filesize",
		"size of the files that loading writes, and of the largest ones of compactions",
		sizeKind(1<<20, 1<<30), func(p *PebbleParams) *int64 { return &p.FileSize }),
}

// PebbleKeys are the keys of all parameters, in the order of the documentation.
func PebbleKeys() []string { return pebbleParams.Keys() }

// Set parses the value of one parameter. The error names the permitted values.
func (p *PebbleParams) Set(key, text string) error { return pebbleParams.Set(p, key, text) }

// Get returns the value of one parameter as Set reads it, "" where there is no such
// one.
func (p PebbleParams) Get(key string) string { return pebbleParams.Get(&p, key) }

// decodePebble reads the YAML below the key "pebble".
func decodePebble(node *yaml.Node) (Server, problem.List) {
	p, problems := decode(pebbleParams, "pebble", "{cache: 64MiB, sync: false}", node, PebbleDefaults())
	if len(problems) > 0 {
		return nil, problems
	}
	return &pebble{p}, nil
}
