package field

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

func checked[T comparable](t *testing.T, k Kind[T], good map[string]T, bad map[string]string) {
	t.Helper()
	for text, want := range good {
		if got, err := k.Parse(text); err != nil || got != want {
			t.Errorf("%s %q is %v, %v; want %v", k.Takes, text, got, err, want)
		}
	}
	for text, want := range bad {
		got, err := k.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), k.Takes) {
			t.Errorf("%s %q is %v, %v; want an error with %q", k.Takes, text, got, err, want)
		}
	}
}

func TestSizes(t *testing.T) {
	checked(t, Size(1, math.MaxInt64), map[string]int64{
		"4096":    4096,
		"4096B":   4096,
		"4k":      4096,
		"4K":      4096,
		"4Ki":     4096,
		"4 KiB":   4096,
		"4kB":     4000,
		"4kb":     4000,
		"1.5GiB":  3 << 29,
		"1.5G":    3 << 29,
		"1.5GB":   1.5e9,
		"1P":      1 << 50,
		"2PB":     2e15,
		"100TB":   1e14,
		"0.5 MiB": 1 << 19,
	}, map[string]string{
		"":                       "write 4GiB",
		"0":                      "write 4GiB",
		"-1":                     "write 4GiB",
		"1e9":                    "write 4GiB",
		"4  GiB":                 "write 4GiB",
		"4XB":                    "units are KiB",
		"1.3KiB":                 "whole number of a smaller unit",
		"9999999TiB":             "write less",
		"4GiB/s":                 "without /s",
		"99999999999999999999":   "write less",
		"4GiBs":                  "units are",
		"0x10":                   "write 4GiB",
		strings.Repeat("9", 300): "write 4GiB",
	})
	checked(t, Size(512, 64<<20), nil, map[string]string{"4GiB": "a size from 512B to 64MiB: write 64MiB"})
}

func TestBandwidths(t *testing.T) {
	checked(t, Bandwidth(1, math.MaxInt64), map[string]int64{
		"500MB/s":  5e8,
		"500MB":    5e8,
		"500MiB/s": 500 << 20,
		"4096":     4096,
		"25Gbit/s": 3.125e9,
		"25Gbit":   3.125e9,
		"8kbit":    1000,
	}, map[string]string{
		"25Gb/s": "25Gbit/s for bits, or 25GB/s for bytes",
		"5Mb":    "5Mbit/s",
		"5kibit": "units are",
		"5bit":   "units are",
		"fast":   "500MB/s",
	})
}

func TestDurations(t *testing.T) {
	checked(t, Duration(0, math.MaxInt64), map[string]time.Duration{
		"0":      0,
		"0s":     0,
		"10s":    10 * time.Second,
		"10 s":   10 * time.Second,
		"1m30s":  90 * time.Second,
		"1m 30s": 90 * time.Second,
		"1.5h":   90 * time.Minute,
		"2d":     48 * time.Hour,
		"5us":    5000,
		"5µs":    5000,
		"20ns":   20, "6666.666666666667us": 6666667, "0.3ns": 0,
		"2min": 2 * time.Minute,
		"3sec": 3e9,
	}, map[string]string{
		"5":               "add the unit: 5s, or 5ms",
		"1.5":             "add the unit",
		"-5s":             "write 10s",
		"10S":             "write 10s",
		"":                "write 10s",
		"9999999h":        "write less",
		"106751d 106751d": "write less",
		"soon":            "write 10s",
	})
	checked(t, Duration(1, time.Minute), nil, map[string]string{"0s": "a time above 0, up to 1m", "61s": "write 10s"})
}

func TestNumbers(t *testing.T) {
	checked(t, Rate(0.001, 1e12), map[string]float64{
		"1500": 1500, "1500/s": 1500, "20k": 20_000, "20K/s": 20_000, "1.5M": 1.5e6, "1e3": 1000, "2000 /s": 2000, ".5": 0.5,
	}, map[string]string{
		"500MB": "this is a size", "20KiB": "this is a size", "0": "write 1500", "NaN": "write 1500", "Inf": "write 1500",
		"1,000": "write 1500", "2m": "this is a size", "1e300": "write 1500", "1e999": "write 1500",
	})
	checked(
		t,
		Count(0, 1e9),
		map[string]int{"4": 4, "0": 0, "10k": 10_000, "1.5M": 1_500_000, "04": 4},
		map[string]string{
			"-1": "write 4", "4.5": "write 4", "1e2": "write 4", "10kB": "write 4", "99999999999999999999": "write less",
			"1.23456k": "smaller unit", "k": "write 4",
		},
	)
	checked(t, Number(0, 1e6), map[string]float64{"0.5": 0.5, "1e2": 100, "4.": 4}, map[string]string{
		"0x10": "write 0.5", "inf": "write 0.5", "nan": "write 0.5", "2e6": "from 0 to 1000000",
	})
	checked(
		t,
		Portion("5%"),
		map[string]float64{"5%": 0.05, "5 %": 0.05, "0.05": 0.05, "1/8": 0.125, "1 / 8": 0.125},
		map[string]string{
			"5":     "write 5%, or 1/5",
			"0":     "above 0% and below 100%: write 5%",
			"100%":  "write 5%",
			"1/0":   "write 5%",
			"2/1":   "write 5%",
			"half":  "write 5%",
			"-5%":   "write 5%",
			"1/2/3": "write 5%",
		},
	)
	checked(
		t,
		Switch,
		map[string]bool{"true": true, "True": true, "yes": true, "on": true, "false": false, "NO": false, "off": false},
		map[string]string{"1": "write true", "": "write true"},
	)
}

func TestKindsThatAreMadeOfOthers(t *testing.T) {
	checked(t, Seed, map[string]uint64{"0": 0, "18446744073709551615": math.MaxUint64, "20k": 20_000}, map[string]string{
		"18446744073709551616": "write less", "-1": "write 1", "0.5": "write 1",
	})
	blocks := Size(512, 64<<20).Like("4KiB").Where("a multiple of 512 bytes", func(n int64) bool { return n%512 == 0 })
	checked(t, blocks, map[string]int64{"4KiB": 4096, "512": 512}, map[string]string{
		"4KB": "a size from 512B to 64MiB, a multiple of 512 bytes: write 4KiB", "128MiB": "write 4KiB",
	})
	if got := Portion("5%").Format(0.07); got != "7%" {
		t.Errorf("0.07 is printed as %s", got)
	}
	checked(t, Count(1, 99).Like("70"), nil, map[string]string{"100": "write 70", "1.3k": "write 70"})
	checked(t, Text("a name", "a b", func(text string) bool { return text != "" }), map[string]string{"x y": "x y"},
		map[string]string{"": "a name: write a b"})
}

// What is said of a field that may be left out, and of a nested one.
func TestFieldsWithoutValue(t *testing.T) {
	type optional struct {
		seed *uint64
		list []string
	}
	table := Table[optional]{
		Maybe("seed", "of it", Seed, func(o *optional) **uint64 { return &o.seed }),
		Nested("list", "of it", func() *jsonschema.Schema { return &jsonschema.Schema{Type: "array"} },
			func(_ *Reader, o *optional, n *yaml.Node, _ string) bool { return n.Decode(&o.list) == nil },
		).Shown(func(o *optional) string { return strings.Join(o.list, " ") }),
	}
	var o optional
	if all := table.All(&o); all["seed"] != "" || all["list"] != "" {
		t.Errorf("of nothing: %v", all)
	}
	if seed, _ := table.Schema(&o).Properties.Get("seed"); seed.Default != nil {
		t.Errorf("nothing is %v by default", seed.Default)
	}
	r := &Reader{}
	table.Decode(r, r.Root([]byte("seed: 0\nlist: [a, b]\n"), File{Name: "file"}), "it", &o)
	if all := table.All(&o); all["seed"] != "0" || all["list"] != "a b" || len(r.Problems) > 0 {
		t.Errorf("%v, %v", all, r.Problems)
	}
	if err := table.Set(&o, "seed", "x"); err == nil || *o.seed != 0 {
		t.Errorf("set to %v: %v", *o.seed, err)
	}
}

// A value that is printed is read as itself, by every kind.
func TestFormatsAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, math.MaxInt64).Draw(t, "n")
		again(t, Size(0, math.MaxInt64), n)
		again(t, Bandwidth(0, math.MaxInt64), n)
		again(t, Duration(0, math.MaxInt64), time.Duration(n))
		again(t, Whole(0, math.MaxInt64), n)
		x := rapid.Float64Range(0, 1e15).Draw(t, "x")
		again(t, Rate(0, 1e15), x)
		again(t, Number(0, 1e15), x)
		again(t, Switch, n%2 == 0)
	})
}

func again[T comparable](t *rapid.T, k Kind[T], v T) {
	if got, err := k.Parse(k.Format(v)); err != nil || got != v {
		t.Errorf("%v is printed as %s, and read as %v, %v", v, k.Format(v), got, err)
	}
}

// What is read can be printed, and then means the same.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{"4GiB", "1.5 G", "25Gbit/s", "1m30s", "20k/s", "1/8", "5%", "0", "1e308", "µs"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fuzzed(t, Size(0, math.MaxInt64), text)
		fuzzed(t, Bandwidth(0, math.MaxInt64), text)
		fuzzed(t, Duration(0, math.MaxInt64), text)
		fuzzed(t, Whole(0, math.MaxInt64), text)
		fuzzed(t, Rate(0, math.MaxFloat64), text)
		fuzzed(t, Number(0, math.MaxFloat64), text)
	})
}

func fuzzed[T comparable](t *testing.T, k Kind[T], text string) {
	v, err := k.Parse(text)
	if err != nil {
		return
	}
	if got, err := k.Parse(k.Format(v)); len(k.Format(v)) <= longest && (err != nil || got != v) {
		t.Errorf("%s: %q is %v, printed as %s, and read as %v, %v", k.Takes, text, v, k.Format(v), got, err)
	}
}

type params struct {
	Size   int64
	Jobs   int
	Direct bool
	Name   string
}

var paramTable = Table[params]{
	Of("size", "bytes", Size(512, 1<<40), func(p *params) *int64 { return &p.Size }),
	Of("jobs", "threads", Count(1, 64), func(p *params) *int { return &p.Jobs }),
	Of("direct", "no page cache", Switch, func(p *params) *bool { return &p.Direct }),
	Of("name", "of it", OneOf("raw", "ext4"), func(p *params) *string { return &p.Name }),
}

// All that is wrong with a mapping is noted at once, and the rest is read.
func TestTable(t *testing.T) {
	decode := func(text string) (params, Given, []string) {
		r, p := &Reader{}, params{Jobs: 2}
		given := paramTable.Decode(r, r.Root([]byte(text), File{Name: "file"}), "the disk", &p)
		var wrong []string
		for _, one := range r.Problems {
			wrong = append(wrong, one.String())
		}
		return p, given, wrong
	}
	p, given, wrong := decode("size: 1.5GiB\ndirect: yes\nname: raw\n")
	if p != (params{3 << 29, 2, true, "raw"}) || len(wrong) != 0 || !given.Good["size"] || given.Line["name"] != 3 ||
		given.Good["jobs"] {
		t.Errorf("%+v %v %v", p, given, wrong)
	}
	p, given, wrong = decode("size: 4\njobs: {}\ndirect: perhaps\nname: ext5\ncolour: 1\nsize: 1GiB\n")
	want := []string{
		"size takes a size from 512B to 1TiB, not the number 4 (write 4GiB)",
		"jobs takes a whole number from 1 to 64, not keys and values (write 4)",
		`direct takes true or false, not "perhaps" (write true)`,
		`name takes one of raw, ext4, not "ext5" (did you mean "ext4"?)`,
		`unknown key "colour" of the disk`,
		"size is given more than once",
	}
	if len(wrong) != len(want) || p != (params{Jobs: 2}) || given.Good["size"] {
		t.Fatalf("%+v %v %q", p, given, wrong)
	}
	for i := range want {
		if !strings.Contains(wrong[i], want[i]) {
			t.Errorf("%q lacks %q", wrong[i], want[i])
		}
	}
	p = params{Size: 4096, Direct: true, Name: "raw"}
	if got := paramTable.All(&p); got["size"] != "4KiB" || got["direct"] != "true" || got["jobs"] != "0" {
		t.Error(got)
	}
	if err := paramTable.Set(&p, "sise", "1"); err == nil || !strings.Contains(err.Error(), `did you mean "size"`) {
		t.Error(err)
	}
	text, err := yaml.Marshal(slices.Sorted(slices.Values(paramTable.Keys())))
	if err != nil || string(text) != "- direct\n- jobs\n- name\n- size\n" {
		t.Errorf("%s %v", text, err)
	}
	if given.Has("sise") || !given.Has("size") {
		t.Errorf("given are %v", given)
	}
	s := paramTable.Schema(&params{Size: 4096, Jobs: 2})
	size, _ := s.Properties.Get("size")
	jobs, _ := s.Properties.Get("jobs")
	if size.Default != "4KiB" || size.Description != "bytes" || jobs.OneOf[1].Maximum != "64" ||
		jobs.Default == nil {
		t.Errorf("%+v %+v", size, jobs)
	}
}
