package section

// Fill shows what fills things that have a size, such as hosts: a row for each, its bars drawn to one scale.
type Fill struct {
	Caption string
	Series  []string // whose parts have a colour of their own, in the order of these
	Rows    []FillRow
}

// FillRow is one thing, or several that are filled alike.
type FillRow struct {
	Name string
	Note string // "4 of them"
	Bars []FillBar
}

// FillBar is one of its resources.
type FillBar struct {
	Of    string  // "memory"
	Size  float64 // beside the largest of all rows, which is 1
	Parts []FillPart
	Text  string // all that it says: "61 of 64 GiB"
}

// FillPart is a part of a bar.
type FillPart struct {
	Share  float64 // of the bar
	Series int     // that it is of: its colour
	Text   string  // all that it says
}
