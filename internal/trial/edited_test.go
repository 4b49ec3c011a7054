package trial

import (
	"strings"
	"testing"

	"plimsoll/internal/experiment"
	"plimsoll/internal/result"
)

func TestWhatWasEditedIsNotGoneOnWith(t *testing.T) {
	a, b := result.InputFile{Name: "a.fio", Bytes: 3, SHA256: "aa"}, result.InputFile{Name: "b.fio", Bytes: 4, SHA256: "bb"}
	edited := a
	edited.SHA256 = "ab"
	for name, c := range map[string]struct {
		was  result.Experiment
		is   []result.InputFile
		says string
	}{
		"the same":                 {was: result.Experiment{Source: "s", Files: []result.InputFile{a, b}}, is: []result.InputFile{a, b}},
		"edited":                   {was: result.Experiment{Source: "s", Files: []result.InputFile{a, b}}, is: []result.InputFile{edited, b}, says: "a.fio changed since run runs/x began"},
		"both":                     {was: result.Experiment{Source: "s", Files: []result.InputFile{a}}, is: []result.InputFile{edited, b}, says: "a.fio and b.fio changed"},
		"a run that noted nothing": {was: result.Experiment{Source: "s"}, is: []result.InputFile{edited}},
		"another experiment":       {was: result.Experiment{Source: "t", Files: []result.InputFile{a}}, is: []result.InputFile{a}, says: "another experiment file"},
	} {
		r := &runner{Options: Options{Dir: "runs/x", Experiment: &experiment.Experiment{Source: "s", Files: c.is}}}
		err := r.same(c.was)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
