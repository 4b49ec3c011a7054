package experiment

import (
	"maps"
	"math"
	"slices"

	"plimsoll/internal/field"
	"plimsoll/internal/result"
)

// Factor is a variable that an experiment changes on purpose.
type Factor struct {
	Name   string
	Levels []result.Level // in the order of the file
}

// Levels returns the typed levels of assignments, which map factors to names of levels, in the order of the factors. If
// several assignments have a factor, the first counts.
func (e *Experiment) Levels(assignments ...map[string]string) []result.Level {
	names := map[string]string{}
	for _, levels := range slices.Backward(assignments) {
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

// readings are the ways to read a level as a number. Where two read as many
// levels of a factor, the first counts: 1m beside 2m is a time, and beside
// 512K it is a size.
var readings = []struct {
	unit string
	read func(text string) (float64, bool)
}{
	{"", reading(field.Number(-math.MaxFloat64, math.MaxFloat64))},
	{"s", reading(field.Seconds(field.Duration(0, math.MaxInt64)))},
	{"B", reading(field.As[float64](field.Size(0, math.MaxInt64)))},
}

func reading(k field.Kind[float64]) func(string) (float64, bool) {
	return func(text string) (float64, bool) {
		number, err := k.Parse(text)
		return number, err == nil
	}
}

// typedLevels returns the levels of a factor with their numbers, all of one unit, so that a curve can be drawn over
// them.
func typedLevels(f *factor) []result.Level {
	best, matched := -1, 0
	for i, r := range readings {
		n := 0
		for _, l := range f.levels {
			if _, ok := r.read(l.value.Value); ok {
				n++
			}
		}
		if n > matched {
			best, matched = i, n
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
		out = append(out, Factor{Name: f.name, Levels: typedLevels(f)})
	}
	return out
}
