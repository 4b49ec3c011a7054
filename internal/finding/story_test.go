package finding

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"plimsoll/internal/fact"
	"plimsoll/internal/testkit/runtest"
)

// The stories in testdata state what was measured, as package story has it, and
// show the findings.
//
// `findings` prints them whole, `titles` their titles, `facts` what their sentences
// are written from, `claims` the published
// results with their verdicts; all take baseline=, and only= for the rules, or
// the claims, that matter.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			run := runtest.Tell(t, d.Input)
			var only []string
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "baseline":
					run.Experiment.Baseline = arg.Vals[0]
				case "only":
					only = arg.Vals
				default:
					d.Fatalf(t, "unknown argument %s", arg.Key)
				}
			}
			var b strings.Builder
			for _, f := range All(run) {
				about := f.Rule
				if d.Cmd == "claims" && f.Claim != nil {
					about = f.Claim.ID
				}
				if len(only) > 0 && !slices.Contains(only, about) {
					continue
				}
				switch d.Cmd {
				case "claims":
					if c := f.Claim; c != nil {
						fmt.Fprintf(&b, "%s (%s %s): %s: %s, published %s: %s\n", c.ID, c.Paper, c.Where, f.Workload, c.Measured, c.Published, c.Verdict)
						fmt.Fprintf(&b, "    %s\n", c.Why)
						for _, c := range f.Caveats {
							fmt.Fprintf(&b, "    ! %s\n", c)
						}
					} else if f.Kind == fact.KindPublished && len(only) == 0 {
						fmt.Fprintf(&b, "%s\n    %s\n", f.Title, f.Why)
					}
				case "facts":
					text, err := json.Marshal(f.Facts)
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintf(&b, "%s (%s): %s\n", f.ID, f.Case, text)
				case "titles":
					fmt.Fprintf(&b, "%s: %s\n", f.Rule, f.Title)
				case "findings":
					fmt.Fprintf(&b, "%s: %s\n", f.ID, f.Title)
					if r := f.Recommendation; r != nil {
						isPlain(t, r)
						if second, is := strings.CutPrefix(r.Headline, f.Title+". "); is {
							fmt.Fprintf(&b, "  %s\n", second)
						}
						fmt.Fprintf(&b, "  (%s)\n", strings.Join(append([]string{string(r.Confidence)}, r.Doubts...), "; "))
						for _, bullet := range [][2]string{{"use", r.Use}, {"avoid", r.Avoid}, {"next", r.Next}} {
							if bullet[1] != "" {
								fmt.Fprintf(&b, "  %s: %s\n", bullet[0], bullet[1])
							}
						}
					}
					for line := range strings.SplitSeq(f.Why, "\n") {
						for sentence := range strings.SplitSeq(line, ". ") {
							fmt.Fprintf(&b, "    %s\n", strings.TrimSuffix(sentence, ".")+".")
						}
					}
					for _, c := range f.Caveats {
						fmt.Fprintf(&b, "    ! %s\n", c)
					}
				default:
					d.Fatalf(t, "unknown command %s", d.Cmd)
				}
			}
			return b.String()
		})
	})
}

// isPlain fails a test on a verdict that holds more than words: statistics
// belong below it, and ~ into tables.
func isPlain(t *testing.T, r *fact.Recommendation) {
	t.Helper()
	statistics := regexp.MustCompile(`[][()~±]|\bp [=<]|interval`)
	for _, said := range append([]string{r.Headline, r.Use, r.Avoid, r.Next, r.Reason}, r.Doubts...) {
		if found := statistics.FindString(said); found != "" {
			t.Errorf("the verdict holds %q: %s", found, said)
		}
	}
	word := map[fact.Confidence]string{
		fact.Sure: "Sure: ", fact.Likely: "Likely: ", fact.TooEarly: "Too early to say ",
	}[r.Confidence]
	// A second sentence says which workload does not decide, and nothing else.
	first := regexp.MustCompile(` For [^.]* all \d+ stacks that the device served are level within \d+%\.$`).ReplaceAllString(r.Headline, "")
	if !strings.HasPrefix(r.Headline, word) || regexp.MustCompile(`[a-z]\. [A-Z]`).MatchString(first) {
		t.Errorf("a verdict that is %s is no sentence that says so: %s", r.Confidence, r.Headline)
	}
}
