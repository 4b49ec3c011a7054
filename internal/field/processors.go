package field

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// Processors is a list of processors.
var Processors = Kind[string]{
	Takes: "a list of processors", Example: "0-3,8",
	read: func(text string) (string, error) {
		list := strings.ReplaceAll(text, " ", "")
		if _, ok := ProcessorSet(list); !ok {
			return "", theExample
		}
		return list, nil
	},
	format: func(list string) string { return list },
	schema: func() *jsonschema.Schema {
		return textOrNumber(`^[0-9]+(-[0-9]+)?(, *[0-9]+(-[0-9]+)?)*$`, "integer", wholes(0, math.MaxInt64))
	},
}

// Kernels know no more than 8192 processors.
var processorRange = regexp.MustCompile(`^([0-9]{1,4})(?:-([0-9]{1,4}))?$`)

// ProcessorSet reads a list of processors, as cgroups have it: "0-3,8".
func ProcessorSet(list string) (set map[int]bool, ok bool) {
	set = map[int]bool{}
	ok = eachRange(list, func(first, last int) {
		for cpu := first; cpu <= last; cpu++ {
			set[cpu] = true
		}
	})
	if !ok {
		return nil, false
	}
	return set, true
}

// IsProcessorSet reports whether ProcessorSet reads a list.
func IsProcessorSet(list string) bool { return eachRange(list, func(int, int) {}) }

// eachRange does something for each range of processors in a list, up to one that is none.
func eachRange(list string, do func(first, last int)) (ok bool) {
	for part := range strings.SplitSeq(list, ",") {
		m := processorRange.FindStringSubmatch(part)
		if m == nil {
			return false
		}
		first, _ := strconv.Atoi(m[1])              // digits
		last, _ := strconv.Atoi(cmp.Or(m[2], m[1])) // digits
		if last < first {
			return false
		}
		do(first, last)
	}
	return true
}
