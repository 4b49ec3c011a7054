package report

import (
	"slices"

	"plimsoll/internal/fact"
	"plimsoll/internal/result"
	answer "plimsoll/internal/section"
)

// role is the colour and mark of a stack in every figure and table.
type role string

const (
	rolePick     role = "pick" // the stack that the verdict takes
	roleBaseline role = "base"
)

// roles are the roles of stacks or series by their names.
type roles map[string]role

// Of returns the role of a name, "" for none.
func (r roles) Of(name string) role { return r[name] }

// star marks the stack of the verdict wherever only text can.
const star = "★"

// Star returns the star and a space for the stack of the verdict, and "" for
// any other.
func (r roles) Star(name string) string {
	if r[name] == rolePick {
		return star + " "
	}
	return ""
}

// named returns the name that has a role; "" for none.
func (r roles) named(wanted role) string {
	for name, role := range r {
		if role == wanted {
			return name
		}
	}
	return ""
}

// order puts the stack of the verdict first, then the baseline.
func (r roles) order(name string) int {
	switch r[name] {
	case rolePick:
		return 0
	case roleBaseline:
		return 1
	}
	return 2
}

// rolesOf returns the roles of a run's stacks.
func rolesOf(run *result.Run, findings []fact.Finding) roles {
	r := roles{}
	if run.Experiment.Baseline != "" {
		r[run.Experiment.Baseline] = roleBaseline
	}
	for _, f := range findings {
		verdict := f.Recommendation
		if verdict == nil || verdict.Pick == "" || verdict.Confidence == fact.TooEarly {
			continue // it would look like a recommendation
		}
		r[verdict.Pick] = rolePick // also where it is the baseline
	}
	return r
}

// keyStar explains the star of a name, where no colour goes with it.
const keyStar = "star"

// keys explain the roles that a section shows, by name and, where it shows
// them so, by colour.
func (r roles) keys(coloured bool) []legendKey {
	var keys []legendKey
	if name := r.named(rolePick); name != "" {
		key := legendKey{string(rolePick), star + " " + name + ": the stack of the verdict"}
		if !coloured {
			key.Class = keyStar
		}
		keys = append(keys, key)
	}
	if name := r.named(roleBaseline); name != "" && coloured {
		keys = append(keys, legendKey{string(roleBaseline), name + ": the baseline"})
	}
	return keys
}

// assign gives the figures and the table of a section their roles, and
// explains them where bars or lines show them by their colour.
func (s *section) assign(stackRoles roles) {
	drawn, coloured := roles{}, false
	for i := range s.Figures {
		f := &s.Figures[i]
		if f.Roles == nil {
			f.Roles = stackRoles
		}
		if f.Kind == figureForest || f.Kind == answer.Repeats {
			continue
		}
		for _, name := range f.seriesNames() {
			if role := f.Roles.Of(name); role != "" {
				drawn[name] = role
			}
		}
		coloured = coloured || f.Kind != figureBars || slices.ContainsFunc(f.Marks,
			func(m mark) bool { return m.Class == classDevice })
	}
	s.Keys = append(drawn.keys(coloured), s.Keys...)
	s.Roles = stackRoles
}

// seriesNames are the names of what a figure shows, in order.
func (f figure) seriesNames() []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, m := range f.Marks {
		add(m.Name)
	}
	for _, c := range f.Curves {
		add(c.Name)
	}
	return names
}
