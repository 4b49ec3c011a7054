// Package kinds links every package that defines a kind of change. A program
// that cleans imports it, so that no journal holds what the program does not
// know:
//
//	import _ "plimsoll/internal/journal/kinds"
//
// A kind in a package that is listed here needs nothing else than its own
// journal.Register. A test finds the types of changes in the source, and fails
// for one that is not registered, or not linked.
package kinds

import (
	_ "plimsoll/internal/container" // engine, container
	_ "plimsoll/internal/journal"   // dir, file, mount, process, cgroup, setting
	_ "plimsoll/internal/roster"    // presence
	_ "plimsoll/internal/stack"     // what layers and sources make
	_ "plimsoll/internal/target"    // configdir, configlink
)
