package watch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Another host is watched by its own plimsoll; one that has none, or another one, is refused with the remedy.
func TestRemote(t *testing.T) {
	d := &Document{Seconds: 2, Groups: []Group{
		{Kind: Container, ID: "busy", Drives: []Use{
			{Read: Stream{PerSecond: 500, P99: 0.002}, Write: Stream{PerSecond: 1, P99: 0.9}},
			{Write: Stream{PerSecond: 50, P99: 0.003}},
		}},
		{Kind: Container, ID: "idle", Drives: []Use{{Read: Stream{PerSecond: 49, P99: 1}}}},
		{Kind: Service, Name: "other", Drives: []Use{{Read: Stream{PerSecond: 500, P99: 1}}}},
	}}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	blind := strings.Replace(string(text), `"findings"`, `"unknown":["`+noLatencies+`no root"],"findings"`, 1)
	for name, test := range map[string]struct{ script, want string }{
		"watched":      {"cat <<'E'\n" + string(text) + "\nE", "map[busy:0.003]"},
		"no latencies": {"cat <<'E'\n" + blind + "\nE", "run it as root"},
		"no program":   {"echo sh: plimsoll: not found >&2; exit 127", "copy the program to"},
		"no host":      {"echo no route to host >&2; exit 255", "no route to host"},
		"other schema": {`echo '{"kind":"plimsoll watch","schema":2}'`, "copy this version"},
		"no JSON":      {"echo Welcome", "plimsoll watch on ssh://root@other"},
		"no end":       {"exec cat /dev/zero", "does not stop"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			script := "#!/bin/sh\n" +
				"case \"$*\" in *'plimsoll watch --once --json --interval 2s') ;; *) exit 9;; esac\n" +
				test.script
			if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			d, err := Remote(t.Context(), "ssh://root@other", 2*time.Second)
			got := ""
			if err == nil {
				var p99s map[string]float64
				p99s, err = d.P99s()
				got = fmt.Sprint(p99s)
			}
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
