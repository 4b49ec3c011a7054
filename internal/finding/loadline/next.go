package loadline

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/result"
)

// Command is the run once more, with as many instances at most as the line may lie at beyond those
// that were measured; "" where that is not what is open, or a shell would read it otherwise.
func (f *Facts) Command(run *result.Run) string {
	if f.Curve.Line.NextWhy != NextBeyond || run.ID == "" {
		return ""
	}
	name := run.Experiment.Name
	if run.Experiment.File != "" {
		name = run.Experiment.File
	}
	words := []string{"plimsoll", "run", name}
	if at := slices.Index(run.Command, "run"); at >= 0 && !slices.Contains(run.Command, "--resume") {
		words = append([]string{"plimsoll"}, without(run.Command[at:], "-o", "--out", "--output", "--instances", "--seed")...)
	}
	if slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, " '\"$\\\n") }) {
		return ""
	}
	return strings.Join(append(words, "--instances", fmt.Sprint(f.Curve.Line.Next)), " ")
}

// without returns the words of a command line without some of its flags and their values.
func without(words []string, flags ...string) (kept []string) {
	for i := 0; i < len(words); i++ {
		flag, _, joined := strings.Cut(words[i], "=")
		switch {
		case !slices.Contains(flags, flag):
			kept = append(kept, words[i])
		case !joined:
			i++
		}
	}
	return kept
}
