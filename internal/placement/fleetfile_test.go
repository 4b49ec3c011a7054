package placement

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/testkit/modeltest"
)

const aFleet = `model: model.json
objective: hosts
headroom: 10%
targets:
  array: {cpus: 8, io-cpu: 4us, network: 5GB}
hosts:
  big:
    count: 3
    price: 2.5
    cpus: 16
    memory: 64GiB
    network: 3GB
    drives:
      nvme: fast
      far: {drive: slow, target: array, delay: 30us}
  small: {cpus: 4, memory: 8GiB}
containers:
  orders:
    class: reads
    count: 8
    least-throughput: 1500/s
    p99-limit: 10ms
    limits: {memory: 2GiB, cpus: 2}
    data: 100GB
    apart: true
  web: {class: computes, count: 4, beside: orders, p99-limit: 1s}
  batch: {class: writes, away-from: [orders, web], least-throughput: 10, on: [small, big]}
moves: 5
now:
  big-1: {orders: 1 on far, web: [1 on nvme, 1 on far]}
  small: {batch: 1}
`

func parse(text string) (*Fleet, *model.Model, error) {
	return Parse("fleet.yaml", []byte(text), func(string) (*model.Model, error) { return modeltest.ThreeClasses(), nil })
}

func TestFleetsAreReadFromFiles(t *testing.T) {
	f, _, err := parse(aFleet)
	if err != nil {
		t.Fatal(err)
	}
	big, orders := f.Hosts[0], f.Containers[0]
	if f.Objective != FewHosts || f.Headroom != 0.1 || f.MostMoves != 5 || big.Name != "big" || big.Count != 3 ||
		big.Price != 2.5 ||
		big.Is.Host.CPUs != 16 || big.Is.Host.NIC != 3e9 || len(big.Is.Drives) != 2 || big.Is.Drives[1].Target.CPUs != 8 ||
		f.Hosts[1].Count != 1 || !slices.Equal(f.Containers[2].On, []int{1, 0}) {
		t.Errorf("%+v", f)
	}
	if orders.Class != 0 || orders.Count != 8 || orders.LeastRate != 1500 || orders.MostP99 != 0.01 ||
		orders.Limits.MemoryBytes != 2<<30 ||
		orders.Data != 100e9 || !orders.Apart || len(f.Containers[1].Beside) != 1 || len(f.Containers[2].Away) != 2 {
		t.Errorf("%+v", f.Containers)
	}
	want := []Standing{{"big-1", 0, 1, 1}, {"big-1", 1, 0, 1}, {"big-1", 1, 1, 1}, {"small", 2, 0, 1}}
	if len(f.Now) != len(want) {
		t.Fatalf("%+v", f.Now)
	}
	for i, s := range f.Now {
		if s != want[i] {
			t.Errorf("%+v and not %+v", s, want[i])
		}
	}
}

// All that is wrong is said at once, each with its line.
func TestBadFleetsAreRefused(t *testing.T) {
	head := "model: m\nhosts: {a: {cpus: 1, memory: 1GiB}}\n"
	for text, want := range map[string][]string{
		"":                                      {"fleet.yaml:1: the file is empty", "plimsoll init fleet"},
		"model: m":                              {"the fleet has no hosts", "the fleet has no containers"},
		"colour: 1":                             {`unknown key "colour"`, "the fleet has no model"},
		"[]":                                    {"a fleet is written as keys and values"},
		"a: &a [*a]":                            {"fleet.yaml:1: "},
		head + "containers: {c: {class: none}}": {"fleet.yaml:3: class of containers c", "reads, writes, computes"},
		head + "containers: {c: {count: 3}}":    {"containers c have no class"},
		head + "containers: {c: {class: reads, count: -1}}":            {"count of containers c takes a whole number"},
		head + "containers: {c: {class: reads, count: 9999999999999}}": {"a whole number from 0 to 1000000"},
		head + "containers:\n  c: {class: reads, p99-limit: 5}": {"fleet.yaml:4: p99-limit of " +
			"containers c takes a time"},
		head + "containers:\n  c: {class: reads, least-throughput: NaN}": {"least-throughput of containers c " +
			"takes operations a second"},
		head + "containers:\n  c: {class: reads, beside: c}": {"they themselves"},
		head + "containers:\n  c: {class: reads, beside: [x], away-from: {a: b}}": {`there are no containers "x"`,
			"is a list of containers"},
		head + "containers:\n  c: {class: reads, on: [a, b]}":              {`there are no hosts "b"`},
		head + "containers:\n  c: {class: reads, on: {}}":                  {"on of containers c is a list of hosts"},
		head + "containers:\n  c: {class: reads, apart: 3}":                {"apart of containers c takes true or false"},
		head + "containers:\n  c: {class: reads, data: lots}":              {"data of containers c takes a size"},
		head + "containers:\n  c: {class: reads, limits: {memory: -1GiB}}": {"fleet.yaml:4: "},
		head + "containers:\n  \"a b\": {class: reads}":                    {`"a b" is no name`},
		head + "containers: {c: {class: reads}}\nobjective: hosts": {"fleet.yaml:3: containers c are to " +
			"do nothing in particular"},
		head + "containers: {c: {class: reads}}\nmoves: 2\nobjective: p99": {"a plan for p99 is not made of single moves"},
		head + "containers: {c: {class: reads}}\nheadroom: 100%":           {"headroom takes a share"},
		head + "containers: {c: {class: reads}}\nobjective: beauty": {"a plan is for one of throughput, " +
			"hosts, p99 and fairness"},
		head + "containers: {c: {class: reads}}\nnow: {b: {c: 1}}": {"the fleet has no host b", "write down: [b]"},
		head + "containers: {c: {class: reads, beside: d}, d: {class: reads, away-from: c}}": {"fleet.yaml:3: containers c " +
			"must be both next to d and away from them"},
		head + "containers: {c: {class: reads}}\nnow: {a: {c: 2}}": {"it places more of c than " +
			"there are: 2 of 1"},
		head + "containers: {c: {class: reads}}\nnow: {a: {c: 1 on x}}": {`the host has no drive "x"`},
		head + "containers: {c: {class: reads}}\nnow: {a: {c: half}}":   {"is no number of them"},
		"model: m\nhosts: {a: {cpus: 1}, b: {memory: 1GiB, price: -2}}": {"hosts a have no memory",
			"hosts b have no cpus", "price of hosts b"},
		"model: m\nhosts: {a: {cpus: 1, memory: 1GiB, drives: {x: quick}}}": {`knows no drive "quick"`},
		"model: m\nhosts: {a: {count: 2, cpus: 1, memory: 1GiB}, a-1: {cpus: 1, memory: 1GiB}}\ncontainers: {c: " +
			"{class: reads}}\nnow: {a-1: {c: 1}}": {
			"both have a host a-1"},
	} {
		_, _, err := parse(text)
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v, and not %q", text, err, w)
			}
		}
	}
	missing := errors.New("no such file")
	if _, _, err := Parse("f", []byte(aFleet), func(string) (*model.Model, error) {
		return nil,
			missing
	}); !errors.Is(err, missing) {
		t.Errorf("a model that is not there: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(aFleet))
	f.Add([]byte("model: m\nhosts: {a: {cpus: 1, memory: 1GiB}}\ncontainers: {c: {class: reads}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fleet, m, err := Parse("f", text, func(string) (*model.Model, error) { return modeltest.ThreeClasses(), nil })
		if err != nil {
			return
		}
		for i := range fleet.Containers { // what is large takes long
			fleet.Containers[i].Count = min(fleet.Containers[i].Count, 3)
		}
		for i := range fleet.Hosts {
			fleet.Hosts[i].Count = min(fleet.Hosts[i].Count, 3)
		}
		if len(fleet.Containers) > 3 || len(fleet.Hosts) > 3 || len(fleet.Now) > 0 {
			return
		}
		p, err := Best(m, fleet, Options{Effort: 500})
		if err == nil && (p.Verdict() == "" || p.Used > p.Of) {
			t.Errorf("%+v", p)
		}
	})
}
