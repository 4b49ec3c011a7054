package journal

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/testkit/hosttest"
)

func schedulerOf(device string) string {
	return filepath.Join("/sys/block", filepath.Base(device), "queue/scheduler")
}

func TestASettingIsTakenBackOnlyWhereItIsOurs(t *testing.T) {
	hosttest.Exclusive(t)
	file := filepath.Join(t.TempDir(), "disk.img")
	if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	device := hosttest.Loop(t, file)
	path := schedulerOf(device)
	was, _, err := Choices(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set(path, was) }()
	for _, test := range []struct {
		name   string
		change func(t *testing.T, c *Setting)
		want   string
	}{
		{"ours", func(*testing.T, *Setting) {}, was},
		{"somebody set another value since", func(t *testing.T, c *Setting) {
			if err := set(c.Path, "bfq"); err != nil {
				t.Fatal(err)
			}
		}, "bfq"},
		{"the host was booted since", func(_ *testing.T, c *Setting) { c.Boot = "another" }, "kyber"},
		{"the device is gone", func(_ *testing.T, c *Setting) { c.Path = schedulerOf("/dev/loop-none") }, "kyber"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := set(path, was); err != nil {
				t.Fatal(err)
			}
			c := &Setting{Path: path, Value: "kyber"}
			if err := c.Prepare(); err != nil {
				t.Fatal(err)
			}
			if err := c.Make(); err != nil {
				t.Fatal(err)
			}
			test.change(t, c)
			for range 2 {
				if err := c.Undo(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				if now, _, err := Choices(path); err != nil || now != test.want {
					t.Errorf("it is %q, want %q (%v)", now, test.want, err)
				}
			}
		})
	}
}

// What files of settings say, and which setting that is.
func TestChoices(t *testing.T) {
	for text, want := range map[string]struct {
		chosen  string
		offered []string
	}{
		"none [mq-deadline] kyber\n": {"mq-deadline", []string{"none", "mq-deadline", "kyber"}},
		"nop\n":                      {"nop", []string{"nop"}},
		"0\n":                        {"0", []string{"0"}},
		"8160\n":                     {"8160", []string{"8160"}},
		"7 (expanded: 1408)\n":       {"1408", []string{"1408"}},
		"X\n":                        {"X", []string{"X"}}, // of CPUs that differ
		"":                           {"", []string{""}},
	} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		chosen, offered, err := Choices(path)
		if err != nil || chosen != want.chosen || !slices.Equal(offered, want.offered) {
			t.Errorf("%q: %q of %q, %v; want %q of %q", text, chosen, offered, err, want.chosen, want.offered)
		}
	}
}

func TestASettingThatDoesNotBiteIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &Setting{Path: path, Value: "99"} // and the file keeps 9934
	if err := c.Make(); err == nil || !strings.Contains(err.Error(), "9934") {
		t.Errorf("got %v", err)
	}
	if err := (&Setting{Path: path + "-none", Value: "99"}).Make(); err == nil {
		t.Error("a file that is not there was set")
	}
}
