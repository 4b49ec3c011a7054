package follow

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/iotrace"
)

// TestTextSaysTheSame compares the account of what blkparse prints of each capture in testdata/captures with that of
// the capture itself.
func TestTextSaysTheSame(t *testing.T) {
	if _, err := exec.LookPath("blkparse"); err != nil {
		t.Skip("blkparse is not installed: scripts/setup.sh test")
	}
	archives, err := filepath.Glob("testdata/captures/*.tgz")
	if err != nil || len(archives) == 0 {
		t.Fatal("no captures", err)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".tgz"), func(t *testing.T) {
			dir := unpack(t, archive)
			want, missing := accountOf(t, open(t, dir))
			if len(missing) > 0 {
				t.Errorf("the capture is said to be text: %q", missing)
			}
			firsts, err := filepath.Glob(filepath.Join(dir, "*.blktrace.0"))
			if err != nil || len(firsts) == 0 {
				t.Fatal("no files", err)
			}
			for _, times := range []bool{false, true} {
				var args []string
				for _, f := range firsts {
					args = append(args, "-i", strings.TrimSuffix(filepath.Base(f), ".blktrace.0"))
				}
				if times {
					args = append(args, "-t")
				}
				text := run(t, dir, "blkparse", args...)
				got, missing := accountOf(t, []Source{{Name: "text", From: strings.NewReader(text)}})
				if got != want {
					t.Errorf("the account of blkparse %s is another one%s", strings.Join(args, " "), firstDifference(got, want))
				}
				if len(missing) != 1 || !strings.Contains(missing[0], "this is text of blkparse") {
					t.Errorf("what text lacks: %q", missing)
				}
			}
		})
	}
}

// accountOf returns the account of sources as JSON, and what it says of text apart.
func accountOf(t *testing.T, sources []Source) (account string, ofText []string) {
	t.Helper()
	var rows bytes.Buffer
	encoder := json.NewEncoder(&rows)
	perIO := func(io *iotrace.IO) error { return encoder.Encode(io) }
	out, err := Analyze(t.Context(), sources, Options{PerIO: perIO})
	if err != nil {
		t.Fatal(err)
	}
	out.Missing = slices.DeleteFunc(out.Missing, func(m string) bool {
		of := strings.Contains(m, "this is text")
		if of {
			ofText = append(ofText, m)
		}
		return of
	})
	if len(out.Missing) == 0 {
		out.Missing = nil
	}
	all, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(all) + "\n" + rows.String(), ofText
}

// firstDifference shows where two texts differ first.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return ":\n" + a[i] + "\nwant\n" + b[i]
		}
	}
	return ""
}

// Text that holds too little is refused with what to print instead.
func TestTextWithoutEvents(t *testing.T) {
	for text, want := range map[string]string{
		"0.1 Q fio\n0.2 D fio\n":                                 "without -f and -F",
		"CPU0 (sda):\n Reads Queued:  1, 4KiB\nTotal (sda):\n\n": "blkparse without -q",
	} {
		_, err := Analyze(t.Context(), []Source{{Name: "text", From: strings.NewReader(text)}}, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
