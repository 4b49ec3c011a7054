package claims

import (
	"regexp"
	"slices"
	"testing"

	"plimsoll/examples"
)

func TestFigures(t *testing.T) {
	figures, err := parseFigures(figuresSource)
	if err != nil {
		t.Fatal(err)
	}
	claimsWithFigure := map[string]bool{}
	for _, f := range figures {
		if _, built := examples.Find(f.Experiment); f.Experiment != "" && !built {
			t.Errorf("figure %s: there is no built-in experiment %s", f.ID, f.Experiment)
		}
		for _, id := range f.Claims {
			c, known := Find(id)
			if !known || c.Paper != f.Paper() {
				t.Errorf("figure %s: %s is no published result of %s", f.ID, id, f.Paper())
			}
			claimsWithFigure[id] = true
		}
	}
	aFigure := regexp.MustCompile(`\b(fig|table) `)
	for _, c := range All() {
		if aFigure.MatchString(c.Where) && !claimsWithFigure[c.ID] {
			t.Errorf("%s is read off %s, and figures.yaml has it at none", c.ID, c.Where)
		}
	}
}

func TestFiguresAreFound(t *testing.T) {
	f, ok := FindFigure("MSST17-8c")
	if !ok || f.Name() != "figure 8c" || f.Experiment != "cassandra-assignment" || f.Paper() != MSST17 {
		t.Errorf("msst17-8c is %+v, %v", f, ok)
	}
	scaling, _ := FindFigure("msst17-3e")
	if !slices.Contains(scaling.Had, Parameter{"jobs", "1 to 64"}) ||
		!slices.Contains(scaling.Had, Parameter{"iodepth", "32"}) {
		t.Errorf("the merged parameters are %v", scaling.Had)
	}
	if _, ok := FindFigure("msst17-99"); ok {
		t.Error("there is a figure 99")
	}
}

func TestWrongFiguresAreRefused(t *testing.T) {
	for _, text := range []string{
		"figures: [{id: msst17-1, where: x, shows: y, experiment: z, repeats: whole}]",
		"figures: [{id: nobody-1, where: x, shows: y, differs: [z]}]",
		"figures: [{id: msst17-1, where: x, shows: y}]",
		"figures: [{id: msst17-1, where: x, shows: y, setup: true}]",
		"figures: [{id: msst17-1, where: x, shows: y, setup: true, had: {cpus: 1}, experiment: z}]",
		"figures: [&a {id: msst17-1, where: x, shows: y, experiment: z}, *a]",
		"figures: [{id: msst17-1, wher: x}]",
	} {
		if _, err := parseFigures([]byte(text)); err == nil {
			t.Errorf("taken: %s", text)
		}
	}
}
