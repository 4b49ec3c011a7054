package fio

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/problem"
	"plimsoll/internal/workload"
)

// TestAskingFioSectionBySection replays what fio 3.33 says, which stops at the
// first section that it does not take.
func TestAskingFioSectionBySection(t *testing.T) {
	w, mistakes := newUserFile(source{name: "my.fio", text: []byte("[global]\nsize=1m\nthinkcycles = " +
		"100\n[a]\nhipri\n[b]\nhipri=1\nbssplit=nonsense\n")})
	if len(mistakes) > 0 {
		t.Fatal(mistakes)
	}
	answers := []string{
		"Bad option <thinkcycles=100>\nDid you mean thinktime?\nfio: job a dropped\n",
		"Bad option <hipri>\nfio: job a dropped\n",
		"Bad option <hipri=1>\nfio: failed parsing bssplit=nonsense\nfio: job b dropped\n",
	}
	var known problem.List
	for i, text := range answers {
		more := w.answer(known, 1, text)
		if len(more) == 0 {
			t.Fatalf("nothing new in answer %d", i)
		}
		known = append(known, more...)
	}
	var got []string
	for _, p := range known {
		got = append(got, fmt.Sprintf("%d %s", p.At.Line, p.What))
	}
	want := []string{
		`3 the fio of this host does not know the option "thinkcycles", or not with this ioengine`,
		`5 the fio of this host does not know the option "hipri", or not with this ioengine`,
		`7 the fio of this host does not know the option "hipri", or not with this ioengine`,
		`8 the fio of this host does not take "bssplit=nonsense"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if rest := string(w.ask(known).Stdin); rest != "; my.fio as plimsoll runs it\n[a]\nsize=1m\n[b]\nsize=1m\n" {
		t.Errorf("the last question is %q", rest)
	}
	if more := w.answer(known, 1, answers[2]); len(more) > 0 {
		t.Errorf("shown twice: %v", more)
	}
	if more := w.answer(nil, 0, answers[0]); len(more) > 0 {
		t.Errorf("fio took the file, and yet: %v", more)
	}
	if !strings.Contains(string(w.text(workload.Target{})), "bssplit=nonsense") {
		t.Error("asking changed the file")
	}
}
