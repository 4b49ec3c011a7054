package starter

import (
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"text/template"

	"plimsoll/internal/model"
	"plimsoll/internal/result"
)

//go:embed fleet.yaml.tmpl
var fleetText string

var fleetPage = template.Must(template.New("fleet").Funcs(template.FuncMap{"plain": plain}).Parse(fleetText))

// fleet has the values of a fleet's template.
type fleet struct {
	Host, File, Model  string
	Name, CPUs, Memory string
	Drives             []string // of the model, as YAML has them
	Classes            []fleetClass
}

type fleetClass struct {
	Name  string // of its containers
	Class string // as YAML has it
	Count int
}

// noName matches characters that names of containers cannot have.
var noName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// WriteFleet writes a fleet of hosts that have as much as this one, and of all classes of a model.
func WriteFleet(w io.Writer, h Host, has result.Limits, file string, m *model.Model) error {
	f := fleet{Host: h.Report.Environment.Hostname, File: h.File, Model: strconv.Quote(file), Name: "host",
		CPUs: strconv.FormatFloat(has.CPUs, 'g', -1, 64), Memory: fmt.Sprintf("%dMiB", has.MemoryBytes>>20)}
	for _, d := range m.Drives {
		f.Drives = append(f.Drives, strconv.Quote(d.Name))
	}
	taken := map[string]bool{}
	for i := range m.Classes {
		c := &m.Classes[i]
		name := noName.ReplaceAllString(c.Name, "-")
		if len(name) > 40 || name == "" || name[0] == '-' || name[0] == '.' || name[0] == '_' || taken[name] {
			name = fmt.Sprint("class-", i+1)
		}
		taken[name] = true
		most := 1
		for _, p := range c.Points {
			most = max(most, p.Instances)
		}
		f.Classes = append(f.Classes, fleetClass{name, strconv.Quote(c.Name), most})
	}
	return fleetPage.Execute(w, f)
}
