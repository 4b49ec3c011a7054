package observe

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/testkit/hosttest"
)

var update = flag.Bool("update", false, "rewrite the metrics in docs/reference/metrics.md")

// docs/reference/metrics.md lists every metric that is sampled, with its unit and where it is read.
func TestDocsListTheMetrics(t *testing.T) {
	var out strings.Builder
	for _, k := range []struct {
		kind  kind
		title string
	}{
		{ofGroup, "An instance, and the scaled-down host (`instance`, `scaled-down host`)"},
		{ofDevice, "A device (`device NAME`)"},
		{ofHost, "The host (`host`)"},
	} {
		fmt.Fprintf(&out, "\n### %s\n\n| metric | unit | what it is | where it is read |\n|---|---|---|---|\n", k.title)
		for _, s := range samplers {
			if s.kind != k.kind {
				continue
			}
			for _, m := range s.metrics {
				fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", m.name, m.unit, m.meaning, m.file)
			}
		}
	}
	hosttest.Listed(t, "../../docs/reference/metrics.md", "metrics",
		"go test ./internal/observe -run Docs -update", out.String(), *update)
}

// A metric is looked up by whose it is and by its name.
func TestMetricsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range samplers {
		for _, m := range s.metrics {
			key := fmt.Sprint(s.kind, m.name)
			if seen[key] || m.name == "" || m.unit == "" || m.meaning == "" || m.file == "" {
				t.Errorf("%+v is there twice, or says not enough", m)
			}
			seen[key] = true
		}
	}
}
