package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"plimsoll/internal/database"
	"plimsoll/internal/experiment"
	"plimsoll/internal/field"
	"plimsoll/internal/lab"
	"plimsoll/internal/model"
	"plimsoll/internal/placement"
	"plimsoll/internal/result"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/stack"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/internal/workload/kinds"
)

// door is one of the places where people write a value: a key of a file, an option of a stack, a flag, a column.
type door struct {
	name string
	read func(text string) (any, error)
}

// inExperiment reads a value that stands at VALUE in an experiment.
func inExperiment(name, top, stackText, load, more string, value func(*experiment.Experiment) any) door {
	return door{name, func(text string) (any, error) {
		file := "name: x\nquestion: What?\n" + top + "\nstacks:\n  s: " + cmp.Or(stackText, "loop(size=4GiB) > ext4") +
			"\nworkloads:\n  w: " + cmp.Or(load, "{fio: {rw: randread, size: 1GiB}}") + "\n" + more
		file = strings.ReplaceAll(file, "VALUE", text)
		e, err := experiment.Parse("x.yaml", []byte(file), experiment.Options{Catalog: stack.Catalog(), Kinds: kinds.All()})
		if err != nil {
			return nil, err
		}
		return value(e), nil
	}}
}

// ofWorkload returns the field of a workload's parameters.
func ofWorkload(field string) func(*experiment.Experiment) any {
	return func(e *experiment.Experiment) any {
		w := reflect.Indirect(reflect.ValueOf(e.Workloads[0].Workload))
		return w.FieldByName(field).Interface()
	}
}

// flagged reads a value that a flag of plimsoll run takes.
func flagged(flag string, value func(*experiment.Experiment) any) door {
	return door{"--" + flag, func(text string) (any, error) {
		e := &experiment.Experiment{}
		at := slices.IndexFunc(experiment.Flags(), func(s experiment.Setting) bool { return s.Flag == flag })
		if err := experiment.Flags()[at].Set(e, text); err != nil {
			return nil, err
		}
		return value(e), nil
	}}
}

// column reads a value of a table of points.
func column(name string, value func(result.Run) any) door {
	return door{"points " + name, func(text string) (any, error) {
		table := "class,instances,clients," + name + "\nc,1,1," + text + "\n"
		if name != "throughput" {
			table = "class,instances,clients,throughput," + name + "\nc,1,1,100," + text + "\n"
		}
		run, wrong := points.Read("p.csv", []byte(table))
		if err := wrong.Err(); err != nil {
			return nil, err
		}
		return value(run), nil
	}}
}

func hosted(key string, value func(model.HostKind) any) door {
	return door{"host " + key, func(text string) (any, error) {
		file := strings.ReplaceAll("drives:\n  c: {drive: fast, read-bandwidth: 3GB}\n"+key, "VALUE", text)
		k, err := modeltest.ThreeClasses().ParseHost(model.HostKind{}, "h", []byte(file))
		if err != nil {
			return nil, err
		}
		return value(k), nil
	}}
}

func fleeted(key, rest string, value func(*placement.Fleet) any) door {
	return door{"fleet " + key, func(text string) (any, error) {
		file := "model: m\nhosts: {a: {cpus: 1, memory: 1GiB}}\ncontainers:\n  c: {class: reads" + rest
		f, _, err := placement.Parse("f", []byte(strings.ReplaceAll(file, "VALUE", text)),
			func(string) (*model.Model, error) { return modeltest.ThreeClasses(), nil })
		if err != nil {
			return nil, err
		}
		return value(f), nil
	}}
}

func servedDoor(key string) door {
	return door{"pebble " + key, func(text string) (any, error) {
		var p database.PebbleParams
		err := p.Set(key, text)
		return p.Get(key), err
	}}
}

func loaded(key, rest, field string) door {
	load := "{ycsb: {workload: A, records: 1000, " + key + ": VALUE" + rest + "}}"
	if strings.HasPrefix(key, "fio ") {
		load = "{fio: {rw: randrw, " + strings.TrimPrefix(key, "fio ") + ": VALUE" + rest + "}}"
		return inExperiment(key, "", "", load, "", ofWorkload(field))
	}
	return inExperiment("ycsb "+key, "", "", load, "", ofWorkload(field))
}

func limited(key string, value func(result.Limits) any) door {
	return inExperiment("limits "+key, "", "", "", "mixes:\n  m: {w: {count: 1, limits: {"+key+": VALUE}}}\n",
		func(e *experiment.Experiment) any { return value(e.Mixes[0].Tenants[0].Limits) })
}

func topped(key string, value func(*experiment.Experiment) any) door {
	return inExperiment(key, key+": VALUE", "", "", "", value)
}

func compared(text string) (any, error) {
	o, err := (&compareFlags{threshold: text, alpha: "5%"}).options(nil)
	return o.Threshold, err
}

// valueKinds are the doors of each kind of value, and what people write there.
var valueKinds = []struct {
	name  string
	texts string
	doors []door
}{
	{"sizes", "4096|4096B|4k|4K|4Ki|4KiB|4kib|4KB|4kB|4kb|4M|512MiB|512 MiB|512  MiB|500MB|500mb|1g|1G|1Gi|" +
		"1GiB|1GB|1Gb|1.5GiB|1.5GB|1.3KiB|1TiB|1TB|1PiB|0|-1GiB|+1GiB|1e9|0x10|1,5GiB|1_000|4XB|GiB|4 GiB/s|500MB/s|" +
		"9999999TiB|99999999999999999999|some|4Gbit", []door{
		inExperiment("loop size", "", "loop(size=VALUE) > ext4", "{fio: {rw: randread, size: 64KiB}}", "",
			func(e *experiment.Experiment) any {
				defs, _ := e.Stacks[0].Line.Resolve(stack.Catalog())
				return must(field.Bytes.Parse(defs[0].Setting(e.Stacks[0].Line.Nodes[0], "size")))
			}),
		flagged("size", func(e *experiment.Experiment) any { return e.Scaled.Bytes }),
		loaded("fio size", ", bs: 512", "Size"), loaded("fio bs", ", size: 1GiB", "BS"),
		loaded("field-size", "", "FieldSize"),
		servedDoor("cache"),
		limited("memory", func(l result.Limits) any { return l.MemoryBytes }),
		limited("read-bandwidth", func(l result.Limits) any { return l.Read.BytesPerSecond }),
		column("memory", func(r result.Run) any { return r.Mixes[0].Host.MemoryBytes }),
		column("bandwidth", func(r result.Run) any { return r.Mixes[0].Host.IO.BytesPerSecond }),
		hosted("memory: VALUE", func(k model.HostKind) any { return k.Host.MemoryBytes }),
		hosted("network: VALUE", func(k model.HostKind) any { return int64(k.Host.NIC) }),
		hosted("bandwidth: VALUE", func(k model.HostKind) any { return k.Host.IO.BytesPerSecond }),
		fleeted("data", ", data: VALUE}", func(f *placement.Fleet) any { return f.Containers[0].Data }),
		{"lab --memory", func(text string) (any, error) { return labSize("--memory", text, 1) }},
		{"lab bytes-read", func(text string) (any, error) {
			p, err := lab.ParseProfile("bytes-read=" + text)
			return p.ReadBytes, err
		}},
	}},
	{"durations", "10s|10 s|1m30s|1m 30s|500ms|5us|5µs|20ns|1h|1d|2min|10sec|1.5s|" +
		".5s|0|0s|5|1.5|-5s|+5s|1e3s|10S|10M|1w|s|soon|9999999h", []door{
		topped("runtime", func(e *experiment.Experiment) any { return e.Timing.Runtime }),
		topped("ramp", func(e *experiment.Experiment) any { return e.Timing.Ramp }),
		flagged("runtime", func(e *experiment.Experiment) any { return e.Timing.Runtime }),
		flagged("ramp", func(e *experiment.Experiment) any { return e.Timing.Ramp }),
		flagged("budget", func(e *experiment.Experiment) any { return e.Budget }),
		{"--precondition rounds=5,round=", func(text string) (any, error) {
			p, err := experiment.ParsePrecondition("rounds=5,round=" + text)
			return p.Round, err
		}},
		loaded("fio runtime", ", size: 1GiB", "Runtime"), loaded("fio thinktime", ", size: 1GiB", "ThinkTime"),
		loaded("runtime", "", "Runtime"), loaded("think", "", "Think"), loaded("timeout", "", "Timeout"),
		inExperiment("objective p99", "objective: {p99: VALUE}", "", "", "mixes:\n  a: {w: 1}\n  b: {w: 2}\n",
			func(e *experiment.Experiment) any { return seconds(e.Objective.P99Seconds) }),
		column("mean", func(r result.Run) any { return "taken" }),
		column("think", func(r result.Run) any { return seconds(r.Mixes[0].Tenants[0].Load.ThinkSeconds) }),
		hosted("  d: {drive: fast, delay: VALUE}",
			func(k model.HostKind) any { return seconds(k.Drives[1].Delay) }),
		fleeted("p99-limit", ", p99-limit: VALUE}",
			func(f *placement.Fleet) any { return seconds(f.Containers[0].MostP99) }),
	}},
	{"rates", "1500|1500/s|1500 /s|1.5|20k|20K|20k/s|2M|2m|1.5k|1e3|1e3/s|20000.5|0|" +
		"-5|+5|20KiB|500MB|500MB/s|20kB|NaN|Inf|1_000|1,000|0x10|many|1e300|2000 IOPS", []door{
		limited("read-iops", func(l result.Limits) any { return l.Read.OperationsPerSecond }),
		hosted("iops: VALUE", func(k model.HostKind) any { return k.Host.IO.OperationsPerSecond }),
		hosted("  d: {drive: fast, read-iops: VALUE}",
			func(k model.HostKind) any { return float64(k.Drives[1].Is.Read.IOPS) }),
		column("iops", func(r result.Run) any { return r.Mixes[0].Host.IO.OperationsPerSecond }),
		column("throughput", func(r result.Run) any { return "taken" }),
		loaded("rate", "", "Rate"),
		fleeted("least-throughput", ", least-throughput: VALUE}",
			func(f *placement.Fleet) any { return f.Containers[0].LeastRate }),
		{"lab iops-read", func(text string) (any, error) {
			p, err := lab.ParseProfile("iops-read=" + text)
			return p.ReadIOPS, err
		}},
	}},
	{"shares", "5%|5 %|0.05|.05|1/8|1 / 8|2/1|1/0|0%|0|100%|1|5|150%|-5%|NaN|Inf|5e-2|half", []door{
		topped("target", func(e *experiment.Experiment) any { return e.Target }),
		flagged("precision", func(e *experiment.Experiment) any { return e.Target }),
		topped("elasticity", func(e *experiment.Experiment) any { return e.Elasticity }),
		inExperiment("objective standalone", "objective: {standalone: VALUE}", "", "",
			"mixes:\n  a: {w: 1}\n  b: {w: 2}\n",
			func(e *experiment.Experiment) any { return e.Objective.Standalone }),
		inExperiment("policy share", "host: {cpus: 1}", "", "",
			"mixes:\n  m: {w: {count: 1, policy: cpu, share: VALUE}}\n",
			func(e *experiment.Experiment) any { return e.Mixes[0].Tenants[0].Limits.CPUs }),
		fleeted("headroom", "}\nheadroom: VALUE", func(f *placement.Fleet) any { return f.Headroom }),
		{"--threshold", compared},
		loaded("hot-set", ", distribution: hotspot", "HotSet"),
		inExperiment("ycsb mix", "", "", "{ycsb: {records: 1000, mix: {read: VALUE, update: 0.95}}}", "",
			func(e *experiment.Experiment) any {
				return reflect.Indirect(reflect.ValueOf(e.Workloads[0].Workload)).FieldByName("Mix").Interface()
			}),
	}},
	{"counts", "4|1|0|-1|+4|04|4.0|4.5|1e2|10k|10K|10M|1_000|1,000|0x10|99999999999999999999|some", []door{
		topped("repeat", func(e *experiment.Experiment) any { return e.Repeat }),
		flagged("repeat", func(e *experiment.Experiment) any { return e.Repeat }),
		flagged("records", func(e *experiment.Experiment) any { return e.Scaled.Records }),
		topped("seed", func(e *experiment.Experiment) any { return *e.Seed }),
		flagged("seed", func(e *experiment.Experiment) any { return *e.Seed }),
		loaded("fio jobs", ", size: 1GiB", "Jobs"), loaded("fio rwmixread", ", size: 1GiB", "RWMixRead"),
		loaded("threads", "", "Threads"), loaded("retries", "", "Retries"), servedDoor("bloom"),
		inExperiment("mix count", "", "", "", "mixes:\n  m: {w: VALUE}\n",
			func(e *experiment.Experiment) any { return e.Mixes[0].Tenants[0].Count }),
		fleeted("count", ", count: VALUE}", func(f *placement.Fleet) any { return f.Containers[0].Count }),
	}},
	{"numbers", "4|0.5|.5|0|-1|1e2|500m|1_000|1,5|NaN|Inf|0x10|2e6|some", []door{
		limited("cpus", func(l result.Limits) any { return l.CPUs }),
		column("cpus", func(r result.Run) any { return r.Mixes[0].Host.CPUs }),
		column("reads", func(r result.Run) any { return "taken" }),
		hosted("speed: VALUE", func(k model.HostKind) any { return k.Host.Speed }),
		hosted("machine: VALUE", func(k model.HostKind) any { return k.Host.Machine }),
	}},
	{"switches", "true|false|True|TRUE|yes|no|on|off|Yes|1|0|'true'|~|perhaps", []door{
		topped("trace", func(e *experiment.Experiment) any { return e.Trace }),
		loaded("fio direct", ", size: 1GiB", "Direct"), servedDoor("sync"),
		inExperiment("tpcc check", "", "loop(size=8GiB) > ext4 > volume",
			"{tpcc: {warehouses: 1, check: VALUE, database: {postgresql: {}}}}", "",
			func(e *experiment.Experiment) any { return "taken" }),
		fleeted("apart", ", apart: VALUE}", func(f *placement.Fleet) any { return f.Containers[0].Apart }),
	}},
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func seconds(s float64) time.Duration { return time.Duration(s * 1e9) }

var updateValues = flag.Bool("update-values", false, "rewrite testdata/values.golden")

// TestValues: what each door makes of each text, "-" for one that it refuses, and what it says of nonsense.
func TestValues(t *testing.T) {
	var got strings.Builder
	for _, k := range valueKinds {
		fmt.Fprintf(&got, "%s\n\n", k.name)
		w := tabwriter.NewWriter(&got, 0, 0, 2, ' ', 0)
		for _, text := range strings.Split(k.texts, "|") {
			fmt.Fprint(w, text)
			for _, d := range k.doors {
				value, err := d.read(text)
				if err != nil {
					value = "-"
				}
				if d, isTime := value.(interface{ Seconds() float64 }); isTime {
					value = d
				}
				fmt.Fprintf(w, "\t%v", value)
			}
			fmt.Fprintln(w)
		}
		_ = w.Flush()
		bad := "nonsense"
		fmt.Fprintln(&got)
		for i, d := range k.doors {
			_, err := d.read(bad)
			fmt.Fprintf(&got, "%d. %s: %v\n", i+1, d.name, err)
		}
		fmt.Fprintln(&got)
	}
	name := filepath.Join("testdata", "values.golden")
	if *updateValues {
		if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || got.String() != string(want) {
		t.Errorf("%v; with -update-values it is\n%s", err, got.String())
	}
}
