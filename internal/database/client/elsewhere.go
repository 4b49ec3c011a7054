package client

import (
	"fmt"
	"slices"

	"plimsoll/internal/database"
)

// made are the tables that loading makes; a schema that has others too is somebody's.
var made = []string{recordsTable, factsTable,
	"customer", "district", "history", "item", "new_order", "order_line", "orders", "stock", "warehouse"}

// mayMake returns an error if a schema must not be made. An existing schema may be replaced if an earlier load made all
// of it, or if the user allows its removal; then replaces is true.
func mayMake(schema string, exists bool, tables []string, options map[string]string) (replaces bool, err error) {
	switch {
	case !exists:
		return false, nil
	case options[database.ReplaceOption] == "true":
		return true, nil
	case slices.Contains(tables, factsTable) &&
		!slices.ContainsFunc(tables, func(name string) bool { return !slices.Contains(made, name) }):
		return true, nil
	}
	return false, fmt.Errorf("%s is there already, and Plimsoll did not make all of it: it loads only into what it "+
		"makes; name another one, or let all that is in it go: --destroy %s", schema, schema)
}
