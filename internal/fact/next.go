package fact

// Next is what an answer leaves open, and what would settle it.
type Next struct {
	Open     string // what to do, in words; "" for nothing
	Command  string // the run that would settle it; "" for none
	Purpose  string // of the command, in the place of how long it takes: "for the whole host"; "" for none
	MoreTime bool   // more time for the same run may settle it
}

// MoreSetups returns the Next of an answer that nothing but more setups makes surer.
func MoreSetups(c Confidence) Next {
	next := Next{MoreTime: true}
	if c != Sure {
		next.Open = "bring it up more often: what is open gets narrower"
	}
	return next
}
