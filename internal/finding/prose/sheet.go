package prose

import (
	"bytes"
	_ "embed" // the sentences that rules share
	"fmt"
	"regexp"
	"strings"
	"sync"
	"text/template"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/plural"
	"plimsoll/internal/stats"
	"plimsoll/internal/units"
)

// Sheet is the sentences of published results, the last that are text/templates: for each case
// one of its name, the title, and one of its name and ": why". Both are given the
// finding, with its facts. A remark has one of its own name, and is given its facts.
type Sheet struct{ templates func() *template.Template }

// sharedText has the sentences that are in every sheet.
//
//go:embed remarks.tmpl
var sharedText string

// NewSheet takes sentences; those of several rules where one speaks of what another
// found. They are parsed when the first is said, for most commands say none, and a
// mistake panics then: they are part of the program.
func NewSheet(texts ...string) *Sheet {
	s := &Sheet{}
	s.templates = sync.OnceValue(func() *template.Template {
		parsed := template.New("").Funcs(functions).Funcs(template.FuncMap{"said": s.Say, "remark": s.Remark})
		called := map[string]bool{}
		for _, text := range append([]string{sharedText}, texts...) {
			for _, define := range defines.FindAllStringSubmatch(text, -1) {
				if called[define[1]] {
					panic("two sentences are called " + define[1]) // the second would be said for the first
				}
				called[define[1]] = true
			}
			template.Must(parsed.Parse(text))
		}
		return parsed
	})
	return s
}

// defines finds the names of the sentences of a text.
var defines = regexp.MustCompile(`\{\{-?\s*define "([^"]*)"`)

// functions are what sentences put values into words with.
var functions = template.FuncMap{
	"list":       plural.And,
	"either":     plural.Or,
	"count":      plural.Count,
	"of":         plural.Of,
	"choose":     plural.Choose,
	"digits":     units.Digits,
	"times":      units.Times,
	"percent":    units.Percent,
	"more":       func(ratio float64) float64 { return ratio - 1 },
	"rate":       units.Rate,
	"bandwidth":  units.Bandwidth,
	"latency":    units.Latency,
	"extra":      Extra,
	"interval":   Interval,
	"estimate":   Estimate,
	"many":       Many,
	"span":       Span,
	"ofHundred":  units.OfHundred,
	"tooFew":     func(e fact.Effect) string { return strings.Join(TooFew(e), "; ") },
	"one":        One,
	"ratio":      Ratio,
	"shortRatio": ShortRatio,
	"pValue":     PValue,
	"servedText": Served,
	"unfitText":  Unfit,
	"sentence":   Sentence,
	"capital":    Capital,
	"join":       strings.Join,
	"nothing":    func() []string { return nil },
	"also":       func(words []string, word string) []string { return append(words, word) },
	"said":       func(string, any) string { return "" }, // what another template says: each sheet has its own
	"remark":     func(fact.Remark) string { return "" }, // as said
	"level":      func() float64 { return stats.Alpha },
}

// Write writes the sentences of a published result.
func (s *Sheet) Write(f *fact.Finding) {
	if c := f.Claim; c != nil {
		c.Statement, c.Published = s.Say("statement", f.Facts), s.Say("published", f.Facts)
		c.Measured, c.Why = s.Say("measured", f.Facts), s.Say("reason", f.Facts)
		c.StandIn = s.Say("stand-in", f.Facts)
	}
	f.Title, f.Why = s.Say(f.Case, f), s.Say(f.Case+": why", f)
	for _, r := range f.Remarks {
		f.Caveats = append(f.Caveats, s.Remark(r))
	}
}

// Remark makes the sentence of a remark.
func (s *Sheet) Remark(r fact.Remark) string { return s.Say(r.Case, r.Facts) }

// Say makes sentences of facts. White space of templates means nothing.
func (s *Sheet) Say(name string, facts any) string {
	var b bytes.Buffer
	if err := s.templates().ExecuteTemplate(&b, name, facts); err != nil {
		panic(fmt.Sprintf("finding: the sentence %q: %v", name, err)) // a template that no facts fit
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Deviation writes a standard deviation as a share.
func Deviation(share float64) string {
	if share < 0.001 {
		return "less than 0.1%"
	}
	return units.Percent(share)
}
