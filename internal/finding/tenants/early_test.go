package tenants

import (
	"strings"
	"testing"

	"plimsoll/internal/fact"
)

// A tenant that has setups enough, and shares too few of them with its trials alone, is told of as that.
func TestEarly(t *testing.T) {
	tenants := Tenants{Mixes: []Mix{{BringUps: 4, Tenants: []Share{
		{Tenant: "a", Workload: "A", Rate: fact.Effect{Ratio: 0.7, TooFew: true, Pairs: 3}},
		{Tenant: "b", Workload: "B", Rate: fact.Effect{Ratio: 0.9, TooFew: true, Pairs: 4}},
	}}}}
	want := "in the same rounds to separate effects from chance, and some have only 3"
	if got := factsOf(tenants).early(); !strings.Contains(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
}
