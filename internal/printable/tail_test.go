package printable

import (
	"fmt"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	tail := Tail{Most: 20}
	var written strings.Builder
	for i := range 100 {
		line := fmt.Sprintf("line %d\n", i)
		written.WriteString(line)
		if n, err := tail.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
		want := written.String()
		if want = want[max(0, len(want)-20):]; tail.String() != want {
			t.Fatalf("%q, not %q", tail.String(), want)
		}
	}
}
