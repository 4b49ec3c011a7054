package model_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/result/imports/points"
	"plimsoll/internal/testkit/soak"
)

// fitTable fits a model to a table.
func fitTable(t *testing.T, table string) *model.Model {
	t.Helper()
	run, wrong := points.Read("t.csv", []byte(table))
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	m, err := model.Fit(model.Options{Seed: 1}, &run)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A sweep of memory and clients is one class, whatever the number of clients; how many there are may be asked.
func TestClientsAreALevel(t *testing.T) {
	soak.WithoutRace(t)
	table := "class,instances,clients,throughput,reads,cpu,cpus,memory\n"
	rate := func(clients, reads float64) float64 { return clients / (0.5e-3 + 3e-3*reads) }
	for gib, reads := range map[int]float64{4: 0.75, 8: 0.5, 16: 0} {
		for _, clients := range []int{1, 2, 4, 8} {
			table += fmt.Sprintf("C,1,%d,%g,%g,50us,64,%dGiB\n", clients, rate(float64(clients), reads), reads, gib)
		}
	}
	m := fitTable(t, table)
	if len(m.Classes) != 1 || len(m.Classes[0].Points) != 12 || len(m.Classes[0].Check.Held) != 12 ||
		m.Classes[0].Params.Locked != nil {
		t.Fatalf("%d classes: %+v", len(m.Classes), m.Classes)
	}
	f := &m.Classes[0]
	if off := f.Check.Between.MAPE; !(off < 0.05) {
		t.Errorf("between others off by %v", off)
	}
	over, err := model.ParseOver("clients=1..8")
	if err != nil {
		t.Fatal(err)
	}
	host := f.Measured()
	host.MemoryBytes = 8 << 30
	curve, err := m.PredictOver(model.Ask{Tenants: []model.Tenant{{Class: "C", Count: 1, Think: -1}}, Host: host}, over, 0)
	if err != nil || len(curve.Answers) != 8 {
		t.Fatalf("%+v, %v", curve, err)
	}
	for _, a := range curve.Answers {
		if want := rate(a.Value, 0.5); math.Abs(float64(a.Answer.Rate.Value)/want-1) > 0.05 || len(a.Answer.Outside) > 0 {
			t.Errorf("%v clients: %+v, and not %v", a.Value, a.Answer, want)
		}
	}
}

// What a volume is provisioned with bounds reads and writes together.
func TestProvisionedIOPSAreALimit(t *testing.T) {
	m := fitTable(t, `class,instances,clients,throughput,reads,writes,memory,iops
C,1,8,700,1,1,8GiB,3000
C,2,8,1300,1,1,8GiB,3000
C,4,8,1480,1,1,8GiB,3000
C,8,8,1495,1,1,8GiB,3000
`)
	ask := model.Ask{Tenants: []model.Tenant{{Class: "C", Count: 4, Think: -1}}, Host: m.Classes[0].Measured()}
	bound, err := m.Predict(ask)
	if err != nil || bound.Binds != model.IOs || math.Abs(float64(bound.Rate.Value)/1480-1) > 0.1 {
		t.Errorf("%+v, %v", bound, err)
	}
	k, err := m.ParseHost(model.HostKind{Host: ask.Host}, "host.yaml", []byte("iops: 16000\n"))
	if err != nil || !strings.Contains(k.Describe(), "16000 reads and writes/s") {
		t.Fatalf("%s, %v", k.Describe(), err)
	}
	ask.Host = k.Host
	free, err := m.Predict(ask)
	if err != nil || !(free.Rate.Value > 1.5*bound.Rate.Value) || free.Binds == model.IOs {
		t.Errorf("%+v, %v", free, err)
	}
}
