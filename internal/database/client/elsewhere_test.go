package client

import (
	"testing"

	"plimsoll/internal/database"
)

// Only what a load made, with nothing else in it, or what is named may go.
func TestMayMake(t *testing.T) {
	named := map[string]string{database.ReplaceOption: "true"}
	for _, c := range []struct {
		exists   bool
		tables   []string
		options  map[string]string
		replaces bool
		refused  bool
	}{
		{false, nil, nil, false, false},
		{true, nil, nil, false, true},
		{true, []string{"usertable"}, nil, false, true},
		{true, []string{factsTable}, nil, true, false},
		{true, []string{factsTable, recordsTable}, nil, true, false},
		{true, []string{factsTable, recordsTable, "mine"}, nil, false, true},
		{true, []string{"mine"}, named, true, false},
		{true, []string{"mine"}, map[string]string{database.ReplaceOption: "false"}, false, true},
	} {
		replaces, err := mayMake("bench", c.exists, c.tables, c.options)
		if replaces != c.replaces || (err != nil) != c.refused {
			t.Errorf("%+v: %v, %v", c, replaces, err)
		}
	}
}
