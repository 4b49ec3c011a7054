package database

import (
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/problem"
	"plimsoll/internal/suggest"
	"plimsoll/internal/units"
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

// pebbleParam is one parameter: its key in experiment files, which is its flag too.
type pebbleParam struct {
	key string
	set func(p *PebbleParams, text string) error // the error says what to write instead
	get func(p PebbleParams) string              // as set reads it
}

// pebbleParams are all, in the order of PebbleParams and of the documentation.
var pebbleParams = []pebbleParam{
	size("cache", 1<<20, 1<<40, func(p *PebbleParams) *int64 { return &p.Cache }),
	size("memtable", 1<<20, 1<<30, func(p *PebbleParams) *int64 { return &p.Memtable }),
	{"sync", func(p *PebbleParams, text string) error {
		if text != "true" && text != "false" {
			return fmt.Errorf("write true or false")
		}
		p.Sync = text == "true"
		return nil
	}, func(p PebbleParams) string { return strconv.FormatBool(p.Sync) }},
	{"compression", func(p *PebbleParams, text string) error {
		if known := []string{"none", "snappy", "zstd"}; !slices.Contains(known, text) {
			return fmt.Errorf("%s", suggest.DidYouMean(text, known))
		}
		p.Compression = text
		return nil
	}, func(p PebbleParams) string { return p.Compression }},
	count("bloom", 0, 30, func(p *PebbleParams) *int { return &p.Bloom }),
	count("compactions", 1, 64, func(p *PebbleParams) *int { return &p.Compactions }),
	count("l0stop", 4, 1000, func(p *PebbleParams) *int { return &p.L0Stop }),
	size("filesize", 1<<20, 1<<30, func(p *PebbleParams) *int64 { return &p.FileSize }),
}

func size(key string, low, high int64, field func(*PebbleParams) *int64) pebbleParam {
	return pebbleParam{key, func(p *PebbleParams, text string) error {
		n, err := units.ParseSize(text)
		if err != nil || n < low || n > high {
			return fmt.Errorf("write a size from %s to %s, such as 64MiB", units.FormatSize(low), units.FormatSize(high))
		}
		*field(p) = n
		return nil
	}, func(p PebbleParams) string { return units.FormatSize(*field(&p)) }}
}

func count(key string, low, high int, field func(*PebbleParams) *int) pebbleParam {
	return pebbleParam{key, func(p *PebbleParams, text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			return fmt.Errorf("write a whole number from %d to %d", low, high)
		}
		*field(p) = n
		return nil
	}, func(p PebbleParams) string { return strconv.Itoa(*field(&p)) }}
}

// PebbleKeys are the keys of all parameters, in the order of the documentation.
func PebbleKeys() []string {
	keys := make([]string, len(pebbleParams))
	for i, p := range pebbleParams {
		keys[i] = p.key
	}
	return keys
}

// Set reads the value of one parameter. The error says what to write instead.
func (p *PebbleParams) Set(key, text string) error {
	at := slices.Index(PebbleKeys(), key)
	if at < 0 {
		return fmt.Errorf("unknown parameter %q: %s", key, suggest.DidYouMean(key, PebbleKeys()))
	}
	return pebbleParams[at].set(p, text)
}

// Get returns the value of one parameter as Set reads it, "" where there is no such
// one.
func (p PebbleParams) Get(key string) string {
	at := slices.Index(PebbleKeys(), key)
	if at < 0 {
		return ""
	}
	return pebbleParams[at].get(p)
}

// decodePebble reads the YAML below the key "pebble". It goes on after a problem, so
// that all of them come at once.
func decodePebble(node *yaml.Node) (Server, problem.List) {
	p := PebbleDefaults()
	node = resolved(node)
	if node == nil || node.Tag == "!!null" {
		return &pebble{p}, nil
	}
	if node.Kind != yaml.MappingNode {
		return nil, problem.List{{At: problem.Position{Line: node.Line}, Kind: problem.Invalid,
			What:   "pebble takes parameters by name",
			Remedy: "write them below it, for example: {cache: 64MiB, sync: false}; or nothing at all"}}
	}
	var problems problem.List
	first := map[string]int{} // line of each key
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], resolved(node.Content[i+1])
		line, twice := first[key.Value]
		switch {
		case !slices.Contains(PebbleKeys(), key.Value):
			problems.InLine(key.Line, fmt.Sprintf("unknown parameter %q of pebble", key.Value),
				suggest.DidYouMean(key.Value, PebbleKeys()))
		case twice:
			problems.InLine(key.Line, key.Value+" is given twice", fmt.Sprintf("the first is in line %d", line))
		case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
			problems.InLine(key.Line, key.Value+" needs one value", "")
		default:
			if err := p.Set(key.Value, value.Value); err != nil {
				problems.InLine(value.Line, fmt.Sprintf("%s: %q cannot be used", key.Value, value.Value), err.Error())
			}
		}
		if !twice {
			first[key.Value] = key.Line
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return &pebble{p}, nil
}

// resolved is the node that an alias stands for.
func resolved(node *yaml.Node) *yaml.Node {
	if node != nil && node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
