package printable

import (
	"fmt"
	"strings"
	"testing"
)

func TestTail(t *testing.T) {
	said := Tail{Most: 20}
	var all strings.Builder
	for i := range 100 {
		line := fmt.Sprintf("line %d\n", i)
		all.WriteString(line)
		if n, err := said.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
		want := all.String()
		if want = want[max(0, len(want)-20):]; said.String() != want {
			t.Fatalf("%q, not %q", said.String(), want)
		}
	}
}
