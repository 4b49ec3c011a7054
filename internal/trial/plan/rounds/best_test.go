package rounds

import (
	"slices"
	"testing"
)

// The next block has the points that may be the best, also where all comparisons have their verdict.
func TestTheBestIsAskedFor(t *testing.T) {
	far := StudyPoint{Values: []float64{1000, 1001, 999, 1000, 1001}}
	best := StudyPoint{Values: []float64{2000, 2300, 1750, 2150, 1900}}
	rival := StudyPoint{Values: []float64{1950, 1800, 2250, 1700, 2200}}
	like := StudyPoint{Values: []float64{2001, 2299, 1751, 2149, 1901}}
	idle := StudyPoint{Values: []float64{0, 0, 0, 0, 0}}
	ended := StudyPoint{Values: []float64{2300}, Ended: "it cannot come up"}
	early := StudyPoint{Values: []float64{2300}}
	for name, c := range map[string]struct {
		points []StudyPoint
		groups [][]int
		next   []int
	}{
		"nothing is asked":             {[]StudyPoint{far, best, rival}, nil, nil},
		"the rival may be the best":    {[]StudyPoint{far, best, rival}, [][]int{{0, 1, 2}}, []int{1, 2}},
		"the rival does most":          {[]StudyPoint{far, rival, best}, [][]int{{0, 1, 2}}, []int{1, 2}},
		"the rival is within margin":   {[]StudyPoint{far, best, like}, [][]int{{0, 1, 2}}, nil},
		"one is far below the other":   {[]StudyPoint{far, best}, [][]int{{0, 1}}, nil},
		"another group":                {[]StudyPoint{far, best, rival}, [][]int{{0, 1}, {2}}, nil},
		"one did nothing":              {[]StudyPoint{far, best, rival, idle}, [][]int{{0, 1, 2, 3}}, []int{1, 2}},
		"one ended before it is known": {[]StudyPoint{far, best, rival, ended}, [][]int{{0, 1, 2, 3}}, []int{1, 2}},
		"one begins":                   {[]StudyPoint{far, best, rival, early}, [][]int{{0, 1, 2, 3}}, []int{0, 3}},
	} {
		study := Study{Target: 0.5, Points: c.points, Groups: c.groups}
		for i := 1; i < len(c.points); i++ {
			study.Pairs = append(study.Pairs, [2]int{0, i})
		}
		if next := study.Next(); !slices.Equal(next, c.next) {
			t.Errorf("%s: the next block has %v, not %v", name, next, c.next)
		}
	}
}
