package model

import (
	"strings"
	"testing"
)

const fleetHost = `# a host
memory: 64GiB
speed: 1.25
drives:
  a: fast
  b: {drive: slow, target: t, delay: 20us}
  c:
    read-iops: 750000
    write-iops: 200000
    read-bandwidth: 3GB
    read-latency: 90us
    competes: 2
read-iops: 5000
network: 5GB
targets:
  t: {cpus: 8, io-cpu: 4us, network: 5GB, initiators: 2}
`

func TestHostsAreReadFromFiles(t *testing.T) {
	m, measured := onDrives()
	k, err := m.ParseHost(measured, "h.yaml", []byte(fleetHost))
	if err != nil {
		t.Fatal(err)
	}
	h := k.Host
	if h.MemoryBytes != 64<<30 || h.Speed != 1.25 || h.NIC != 5e9 || h.Read.OperationsPerSecond != 5000 || h.CPUs != 32 {
		t.Errorf("%+v", h)
	}
	b, c := k.Drives[1], k.Drives[2]
	if k.Drives[0].Is.Name != "fast" || b.Target == nil || b.Target.Initiators != 2 || b.Target.CPUSeconds != 4e-6 ||
		b.Delay != 20e-6 || b.Is.Read.IOPS != 2e4 || c.Is.Read.IOPS != 750e3 ||
		c.Is.Competes != 2 || c.Is.Read.Latency != 90e-6 {
		t.Errorf("%+v", k.Drives)
	}
	if flow, err := m.ParseHost(measured, "", []byte("{memory: 1GiB, drives: {a: fast}}")); err != nil ||
		flow.Host.MemoryBytes != 1<<30 || len(flow.Drives) != 1 {
		t.Errorf("%+v, %v", flow, err)
	}
}

// All that is wrong is said, with its line.
func TestBadHostsAreRefused(t *testing.T) {
	m, measured := onDrives()
	for text, want := range map[string][]string{
		"colour: red":                            {"h.yaml:1: ", "colour"},
		"speed: 2\ncolour: red\nspeed: x":        {"h.yaml"},
		"speed: fast\ncolour: red":               {"h.yaml:1: ", "speed of the host", "h.yaml:2: ", "colour"},
		"drives: [a]":                            {"drives of the host are names"},
		"drives: {a: none}":                      {`knows no drive "none": it knows slow, fast`},
		"drives:\n  a: {drive: fast, target: u}": {`h.yaml:2: `, `there is no target "u"`},
		"drives:\n  a: {reed-iops: 4}":           {`unknown key "reed-iops"`, "read-iops"},
		"drives:\n  a: {read-iops: -4}":          {"operations a second from 1"},
		"targets:\n  t: {io-cpu: 5}":             {"add the unit: 5us"},
		"[]":                                     {"h.yaml:1: the host is written as keys and values, not as a list"},
		"drives: {a: fast, a: slow}":             {"drives of the host has a more than once"},
		"drives: {[a]: fast}":                    {"a name in drives of the host is text, not a list"},
		"speed: {a: 1}":                          {`speed of the host takes a number`},
		"memory: 1GiB\nmemory: 2GiB":             {"h.yaml:2: memory is given more than once"},
		"":                                       {"h.yaml:1: the file is empty"},
		"a: &a [*a]":                             {"h.yaml:1: "},
	} {
		_, err := m.ParseHost(measured, "h.yaml", []byte(text))
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%q: %v, and not %q", text, err, w)
			}
		}
	}
}

func FuzzParseHost(f *testing.F) {
	f.Add([]byte(fleetHost))
	f.Add([]byte("{drives: {a: {target: t}}, targets: {t: {}}}"))
	m, measured := onDrives()
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := m.ParseHost(measured, "h.yaml", text)
		if err != nil {
			return
		}
		ask := Ask{Tenants: []Tenant{{Class: "R", Count: 3}, {Class: "W", Count: 2}}, Host: k.Host, Drives: k.Drives}
		if a, err := m.Predict(ask); err == nil && !(a.Rate.Value >= 0) {
			t.Errorf("%+v", a)
		}
	})
}
