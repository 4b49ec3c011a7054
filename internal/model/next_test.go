package model_test

import (
	"bytes"
	"strings"
	"testing"

	"plimsoll/internal/model"
)

// A run on the host that is asked about shows most, if there is one; otherwise one on a host that exists. What has been
// measured is not asked for again.
func TestTheNextRunTells(t *testing.T) {
	m := density(t)
	c := &m.Classes[0]
	ask := func(count int, change func(*model.Host)) model.Ask {
		h := c.Measured()
		change(&h)
		return model.Ask{Tenants: []model.Tenant{{Class: "C", Count: count, Think: -1}}, Host: h}
	}
	for name, of := range map[string]struct {
		ask   model.Ask
		there bool
	}{
		"more memory":     {ask(11, func(h *model.Host) { h.MemoryBytes *= 2 }), true},
		"far more memory": {ask(40, func(h *model.Host) { h.MemoryBytes *= 16 }), false},
		"measured":        {ask(6, func(*model.Host) {}), false},
	} {
		next, err := m.Next(of.ask)
		if err != nil {
			if name != "measured" || !strings.Contains(err.Error(), "repeat those that there are") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if there := next.Host == of.ask.Host; there != of.there {
			t.Errorf("%s: %+v", name, next)
		}
		if !(next.After < next.Before && next.After > 1 && next.Seconds > 0) {
			t.Errorf("%s: %+v", name, next)
		}
		var text bytes.Buffer
		if err := next.WriteExperiment(&text); err != nil || !strings.Contains(text.String(), "workload: C") {
			t.Errorf("%s: %v\n%s", name, err, &text)
		}
	}
	c.Kind = ""
	if _, err := m.Next(ask(6, func(*model.Host) {})); err == nil || !strings.Contains(err.Error(), "was imported") {
		t.Errorf("of points that nobody can run: %v", err)
	}
}
