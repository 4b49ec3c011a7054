package verdict

import (
	"strings"
	"testing"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/runview"
	"plimsoll/internal/stack/line"
)

func TestTheStackThatTheHostUsesIsNamed(t *testing.T) {
	v := &runview.View{Run: &result.Run{}}
	for name, text := range map[string]string{
		"v": "loop > xfs > volume(driver=overlay2)", "o": "loop > xfs > overlayfs", "fast": "loop > xfs > overlayfs(volatile)",
	} {
		parsed, err := line.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		v.Stacks = append(v.Stacks, &runview.Stack{Stack: result.Stack{Name: name, Line: text}, Parsed: parsed})
	}
	for driver, want := range map[string]string{"overlayfs": "o", "overlay2": "", "": ""} {
		v.Run.Environment.StorageDriver = driver
		if got := hostStack(v); got != want {
			t.Errorf("Docker on %q: stack %q, want %q", driver, got, want)
		}
	}
	f := Facts{Conditions: Conditions{HostStack: "o"}}
	for pick, want := range map[string]string{"o": "Docker are on it", "v": "Docker are on o"} {
		if got := f.use(&fact.Recommendation{Pick: pick}); !strings.HasSuffix(got, want) {
			t.Errorf("use %s: %q, want it to end with %q", pick, got, want)
		}
	}
}
