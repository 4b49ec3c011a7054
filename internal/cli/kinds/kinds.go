// Package kinds links every package that defines a kind of change. A program
// that cleans imports it, so that no journal holds what the program does not
// know:
//
//	import _ "plimsoll/internal/cli/kinds"
//
// A kind in a package that is listed here needs nothing else than its own
// journal.Register. A test finds the types of changes in the source, and fails
// for one that is not registered, or not linked.
package kinds

import (
	_ "plimsoll/internal/apply"            // applied
	_ "plimsoll/internal/host/clienthost"  // clienthost
	_ "plimsoll/internal/reattach"         // drivemove
	_ "plimsoll/internal/stack"            // what layers and sources make
	_ "plimsoll/internal/stack/container"  // engine, container
	_ "plimsoll/internal/stack/nvmetarget" // configdir, configlink
	_ "plimsoll/internal/state/activeruns" // presence
	_ "plimsoll/internal/state/journal"    // dir, file, mount, process, cgroup, setting
)
