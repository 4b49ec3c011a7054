package lab

import _ "embed"

// What a guest starts with; it is packed anew for each machine, so that a
// change of it needs no new image.
var (
	//go:embed guest/init.sh
	initProgram string
	//go:embed guest/lab-init.sh
	labInitProgram string
)
