package model_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"plimsoll/internal/model"
	"plimsoll/internal/testkit/soak"
)

// clientsTable is a table of servers whose processors, which are many, are idle, of a law over clients and instances.
func clientsTable(rate func(clients, instances float64) float64) string {
	table := "class,instances,clients,throughput,cpu,cpus,memory\n"
	for _, instances := range []float64{1, 2} {
		for i, clients := range []float64{1, 2, 4, 8, 16, 32} {
			noise := 1 + 0.01*math.Sin(float64(3*i)+instances)
			table += fmt.Sprintf("C,%g,%g,%.1f,20us,64,64GiB\n", instances, clients, noise*rate(clients, instances))
		}
	}
	return table
}

// Throughput of one server falls with clients while the host is idle (Gunther's law, of clients): points ask for
// something inside the server, which binds, and says what clients that were not measured do.
func TestWhatBindsInsideAServerIsFound(t *testing.T) {
	soak.WithoutRace(t)
	law := func(clients, instances float64) float64 {
		return instances * 1000 * clients / (1 + 0.05*(clients-1) + 0.005*clients*(clients-1))
	}
	m := fitTable(t, clientsTable(law))
	f := &m.Classes[0]
	if f.Params.Locked == nil || f.Params.Locked.More <= 0 {
		t.Fatalf("%+v", f.Params)
	}
	for _, clients := range []int{1, 3, 12, 24, 32} {
		a, err := m.Predict(model.Ask{Host: f.Measured(),
			Tenants: []model.Tenant{{Class: "C", Count: 2, Clients: clients, Think: -1}}})
		if err != nil {
			t.Fatal(err)
		}
		if want := law(float64(clients), 2); math.Abs(float64(network(a).Value)/want-1) > 0.15 {
			t.Errorf("%d clients: %+v, and not %v", clients, a.Rate, want)
		}
		if (a.Binds == model.Inside) != (clients >= 12) {
			t.Errorf("%d clients: %s binds, of %+v", clients, a.Binds, a.Used)
		}
	}
	var file strings.Builder
	err := m.Write(&file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := model.Read([]byte(file.String()))
	if err != nil || math.Abs(float64(again.Classes[0].Params.Locked.More/f.Params.Locked.More)-1) > 1e-4 {
		t.Errorf("%v; the lock is not read as it was written", err)
	}
	f.Params.Locked.More = -1
	file.Reset()
	err = m.Write(&file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = model.Read([]byte(file.String()))
	if err == nil {
		t.Error("a lock that is held for less than no time was read")
	}
}

// Where clients wait for nothing, or for processors, nothing inside the server is asked for.
func TestNothingInsideAServerIsMadeUp(t *testing.T) {
	soak.WithoutRace(t)
	for name, law := range map[string]func(clients, instances float64) float64{
		"free": func(clients, instances float64) float64 { return 500 * clients * instances },
		"processors": func(clients, instances float64) float64 { // 64 of them, 20 us each, is 3.2M
			x := 400e3 * clients * instances
			return x / math.Pow(1+math.Pow(x/3.2e6, 6), 1.0/6)
		},
	} {
		if p := fitTable(t, clientsTable(law)).Classes[0].Params; p.Locked != nil {
			t.Errorf("%s: %+v", name, *p.Locked)
		}
	}
}

// network returns what the network of queues says, whichever law answers.
func network(a *model.Answer) model.Estimate {
	if a.Network != nil {
		return *a.Network
	}
	return a.Rate
}
