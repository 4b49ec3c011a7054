package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Flags are taken under their old names, which no help shows, and mean the same.
func TestAliasesOfFlags(t *testing.T) {
	for command, names := range oldFlags {
		for old, now := range names {
			for _, name := range []string{old, now} {
				c, _, err := newTestRoot().Find(strings.Fields(command))
				if err != nil || commandName(c) != command {
					t.Fatalf("there is no command %s: %v", command, err)
				}
				value := map[string]string{"bool": "true", "*field.flag[time.Duration]": "30s"}[c.Flags().Lookup(now).Value.Type()]
				if value == "" {
					value = "7m"
				}
				if err := c.ParseFlags([]string{"--" + name + "=" + value}); err != nil {
					t.Errorf("plimsoll %s --%s=%s: %v", command, name, value, err)
					continue
				}
				c.Flags().Visit(func(f *pflag.Flag) {
					if f.Name != now {
						t.Errorf("plimsoll %s --%s sets --%s", command, name, f.Name)
					}
				})
				if !c.Flags().Changed(now) {
					t.Errorf("plimsoll %s --%s does not set --%s", command, name, now)
				}
				if strings.Contains(helpText(c, 80, true), " --"+old+" ") {
					t.Errorf("the help of plimsoll %s shows --%s, which is --%s today", command, old, now)
				}
			}
		}
	}
}

// The whole host is measured by --no-limits, and by --host none, as it was called.
func TestAliasOfNoLimits(t *testing.T) {
	t.Chdir(t.TempDir())
	var plans []string
	for _, flags := range [][]string{{"--no-limits"}, {"--host", "none"}, {}} {
		out, _ := plimsoll(t, exitOK, append([]string{"run", "density", "--seed", "1", "--records", "1000", "--instances",
			"2", "--dry-run", "--output", "out", "--state-dir", "state"}, flags...)...)
		plans = append(plans, out)
	}
	if plans[0] != plans[1] || plans[0] == plans[2] {
		t.Errorf("--no-limits plans\n%s\n--host none\n%s\nneither\n%s", plans[0], plans[1], plans[2])
	}
}
