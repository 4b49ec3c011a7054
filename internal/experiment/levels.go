package experiment

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// Factor is what an experiment varies on purpose.
type Factor struct {
	Name   string
	Levels []result.Level // in the order of the file
}

// Levels returns the typed levels that maps from factors to names of levels
// stand for, in the order of the factors. Of a factor that is in several maps,
// the first counts.
func (e *Experiment) Levels(of ...map[string]string) []result.Level {
	names := map[string]string{}
	for _, levels := range slices.Backward(of) {
		maps.Copy(names, levels)
	}
	var out []result.Level
	for _, f := range e.Factors {
		name, has := names[f.Name]
		if !has {
			continue
		}
		delete(names, f.Name)
		i := slices.IndexFunc(f.Levels, func(l result.Level) bool { return l.Text == name })
		if i < 0 {
			out = append(out, result.Level{Factor: f.Name, Text: name})
			continue
		}
		out = append(out, f.Levels[i])
	}
	for _, factor := range slices.Sorted(maps.Keys(names)) {
		out = append(out, result.Level{Factor: factor, Text: names[factor]})
	}
	return out
}

var bareNumber = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// readings are the ways to read a level as a number. Where two read as many
// levels of a factor, the first counts: 1m beside 2m is a time, and beside
// 512K it is a size.
var readings = []struct {
	unit string
	read func(text string) (float64, bool)
}{
	{"", func(text string) (float64, bool) {
		if !bareNumber.MatchString(text) {
			return 0, false
		}
		number, err := strconv.ParseFloat(text, 64)
		return number, err == nil
	}},
	{"s", func(text string) (float64, bool) {
		d, err := time.ParseDuration(text)
		return d.Seconds(), err == nil && !bareNumber.MatchString(text)
	}},
	{"B", func(text string) (float64, bool) {
		bytes, err := units.ParseSize(text)
		return float64(bytes), err == nil
	}},
}

// typed returns the levels of a factor with the numbers that they stand for:
// all of one unit, so that a curve can be drawn over them.
func typed(f *factor) []result.Level {
	best, most := -1, 0
	for i, r := range readings {
		n := 0
		for _, l := range f.levels {
			if _, ok := r.read(l.value.Value); ok {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	var out []result.Level
	for _, l := range f.levels {
		level := result.Level{Factor: f.name, Text: l.name}
		if best >= 0 {
			number, ok := readings[best].read(l.value.Value)
			if ok {
				level.Number, level.Unit = &number, readings[best].unit
			}
		}
		out = append(out, level)
	}
	return out
}

// typedFactors returns the factors with typed levels.
func (p *parser) typedFactors() []Factor {
	var out []Factor
	for _, f := range p.factors {
		out = append(out, Factor{Name: f.name, Levels: typed(f)})
	}
	return out
}
