package verdict

import (
	"encoding/json"
	"testing"

	"plimsoll/internal/result"
	"plimsoll/internal/runview"
)

func TestToy(t *testing.T) {
	f := Find(runview.New(&result.Run{ID: "toy"}))[0]
	facts, err := json.Marshal(f.Facts)
	if err != nil {
		t.Fatal(err)
	}
	r := f.Recommendation
	if f.Case != "toy" || r.Headline != "Sure: this is the run called toy." || r.Next != "call the run by another name" ||
		string(facts) != `{"answer":{"name":"toy"}}` {
		t.Errorf("no verdict of the toy's question, but %s: %s Next: %s %s", f.Case, r.Headline, r.Next, facts)
	}
}
