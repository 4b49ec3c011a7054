package advise

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"plimsoll/internal/result"
	"plimsoll/internal/testkit/modeltest"
)

// shape returns a document's nodes without the texts of scalars, but with their kinds.
func shape(n *yaml.Node) string {
	var parts []string
	for _, child := range n.Content {
		parts = append(parts, shape(child))
	}
	return map[yaml.Kind]string{yaml.DocumentNode: "d", yaml.MappingNode: "m", yaml.SequenceNode: "s",
		yaml.ScalarNode: "v", yaml.AliasNode: "alias"}[n.Kind] + n.ShortTag() + "(" + strings.Join(parts, " ") + ")"
}

func shapes(t interface{ Fatalf(string, ...any) }, text string) (lines []string) {
	d := yaml.NewDecoder(strings.NewReader(text))
	for {
		var document yaml.Node
		err := d.Decode(&document)
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatalf("%v in\n%q", err, text)
		}
		lines = append(lines, shape(&document))
	}
}

// unitLine matches the lines that a file of a unit's settings may have: comments, and settings of limits below their
// section.
var unitLine = regexp.MustCompile(`^(#.*[^\\]|\[Service\]|CPUQuota=[0-9.]+%|AllowedCPUs=[0-9,-]+|MemoryMax=[0-9]+|` +
	`MemorySwapMax=0|IO(Read|Write)(IOPS|Bandwidth)Max=/dev/null [0-9]+|)$`)

// TestAttackForms writes advice whose every text is another user's, who made the run or the model. However these are
// written, a unit's settings are those of limits, Compose and Kubernetes read documents of the same shape, and a shell
// runs the same commands.
func TestAttackForms(t *testing.T) {
	d := drive
	limits := result.Limits{CPUs: 1.5, CPUSet: "0-1", MemoryBytes: 805306368, Pinned: 2,
		Read: result.Rate{OperationsPerSecond: 300}, Write: result.Rate{BytesPerSecond: 40_000_000}}
	advice := func(texts ...string) []Advice {
		return []Advice{{Name: "n" + texts[0], Class: "c" + texts[1], Cost: "c" + texts[2], Limits: limits},
			{Name: "n" + texts[0], Class: "c" + texts[2], Cost: "c" + texts[1], Limits: limits}}
	}
	plain := advice("1", "2", "3")
	wantShapes := map[string][]string{}
	for _, form := range []string{"compose", "kubernetes"} {
		wantShapes[form] = shapes(t, write(t, form, plain, d))
	}
	check := func(t interface{ Fatalf(string, ...any) }, advice []Advice, model string) {
		device := d
		device.Is = &modeltest.ThreeClasses().Drives[0]
		device.Is.Name = model
		for _, form := range Forms() {
			var out bytes.Buffer
			if err := Write(&out, form, advice, device); err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			text := out.String()
			switch form {
			case "compose", "kubernetes":
				if got := shapes(t, text); !slices.Equal(got, wantShapes[form]) {
					t.Fatalf("%s: %q, want %q in\n%q", form, got, wantShapes[form], text)
				}
			case "systemd":
				for line := range strings.Lines(text) {
					if !unitLine.MatchString(strings.TrimSuffix(line, "\n")) {
						t.Fatalf("systemd has the line %q", line)
					}
				}
			default: // lines for a shell
				for line := range strings.Lines(text) {
					if !strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "docker run --name ") &&
						!strings.HasPrefix(line, "echo '") {
						t.Fatalf("%s has the line %q", form, line)
					}
				}
			}
		}
	}
	known := []string{"", "\n[Service]\nExecStartPre=/bin/sh -c 'id'\n#", "\nspec:\n  hostPID: true\n#",
		"\u0085x: y", "\u2028x: y",
		"\x7f\x9b\x00", "\xff\xfe", "\\", "\"\\", "x: y # '", "\ufeff", "\r[Install]", strings.Repeat("x", 5000),
		"%n%i", "$(id)`id`", "*a", "&a", "!!python/object"}
	for _, text := range known {
		check(t, advice(text, text, text), text)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom(known))
		check(t, advice(text.Draw(t, "name"), text.Draw(t, "class"), text.Draw(t, "cost")), text.Draw(t, "drive"))
	})

	// What would stand in a form as it is, and is no text, is refused.
	for _, set := range []string{"0\nExecStartPre=/bin/sh -c 'id'\n#", "0 1", "0-", "1-0", "%n", "0;1", "0\\"} {
		bad := advice("1", "2", "3")
		bad[1].Limits.CPUSet = set
		for _, form := range Forms() {
			if err := Write(&bytes.Buffer{}, form, bad, d); err == nil || !strings.Contains(err.Error(), "list of processors") {
				t.Errorf("%s: %q: %v", form, set, err)
			}
		}
	}
	for _, path := range []string{"/dev/x 1\nUser=root", "/dev/%n", "/dev/x\u0085", "/dev/x#", "/dev/$(id)", "/dev/x\\"} {
		if err := Write(&bytes.Buffer{}, "systemd", plain, Device{Path: path}); err == nil {
			t.Errorf("%q is taken for a device", path)
		}
	}
}
