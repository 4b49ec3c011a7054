package hosttest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What this package's tests leave running is seen; what others run meanwhile is
// not theirs.
func TestProcessesOfOthersAreNotLooked(t *testing.T) {
	for _, c := range []struct {
		name  string
		owner string
		seen  bool
	}{
		{"ours", os.Getenv(ownerVariable), true},
		{"another package's", "1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := Look()
			cmd := exec.Command("sleep", "60")
			cmd.Env = []string{"PLIMSOLL_STEP=x", ownerVariable + "=" + c.owner}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			diff := before.diff(Look())
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if seen := strings.Contains(diff, "sleep 60"); seen != c.seen {
				t.Errorf("seen: %t, want %t: %s", seen, c.seen, diff)
			}
		})
	}
}
