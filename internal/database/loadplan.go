package database

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/workload"
)

// LoadPlan is all that has to be known to lay out data with a database from an image: its
// server is started on this host, in the image's root, and records go through its client. A
// step has it as a file.
type LoadPlan struct {
	Client  string     `json:"client"` // client for the database
	At      Address    `json:"at"`     // where it answers; a socket is in the scratch directory
	Dataset Dataset    `json:"dataset"`
	Make    [][]string `json:"make"`            // programs that make the data directory, one after the other
	Serve   []string   `json:"serve"`           // and then serve it
	Ends    string     `json:"ends"`            // signal that ends the server well: "INT"
	Codes   []int      `json:"codes,omitempty"` // that it may exit with then, beside 0
	// Patience bounds the wait for the first answer; 0 for workload.DefaultPatience.
	Patience time.Duration     `json:"patience,omitempty"`
	Finish   [][]string        `json:"finish,omitempty"`  // programs that run when records are loaded, while it serves
	Files    map[string]string `json:"files,omitempty"`   // in the scratch directory, by base name
	Options  map[string]string `json:"options,omitempty"` // of the client's
	// Keeps is the path, in the image's root, of a file that the server leaves in workload.ServerDir at its end: see
	// workload.Step. "" for none.
	Keeps string `json:"keeps,omitempty"`
}

// DataDir is where the data directory is in the image's root while it is laid out, and
// LoadScratch the scratch directory, of which only workload.ServerDir is there. No image has either: see
// image.CheckNames.
const (
	DataDir     = LoadScratch + "/data"
	LoadScratch = "/plimsoll"
)

// LoadImage is the name of the command that follows a plan, and LoadPlanName that of its file.
const (
	LoadImage    = "load-image"
	LoadPlanName = "layout.json"
)

// Serving returns the plan with a server that a step starts.
func (p LoadPlan) Serving(s workload.Step) LoadPlan {
	p.Serve, p.Ends, p.Codes, p.Patience = s.Argv, cmp.Or(s.Ends, "TERM"), s.EndCodes, s.Patience
	p.Files = map[string]string{}
	for name, content := range s.Files {
		p.Files[name] = string(content)
	}
	return p
}

// step is the process that lays the data out in a directory.
func (p LoadPlan) step(dir string) workload.Step {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic(err) // it holds nothing that JSON cannot write
	}
	return workload.Step{
		Argv: []string{workload.Self, LoadImage, "--root", workload.ImageDir, "--dir", dir, "--scratch", workload.ScratchDir,
			workload.ScratchDir + "/" + LoadPlanName},
		Files: map[string][]byte{LoadPlanName: append(text, '\n')},
	}
}

// ReadLoadPlan parses a plan.
func ReadLoadPlan(text []byte) (p LoadPlan, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return p, fmt.Errorf("this is no plan of loading: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return p, errors.New("this is no plan of loading: something follows it")
	}
	var problems []error
	if err := p.At.Check(); err != nil {
		problems = append(problems, err)
	}
	if p.At.Socket != "" && path.Dir(p.At.Socket) != workload.ServerDir {
		problems = append(problems, fmt.Errorf("socket must be a file in %s, not %q", workload.ServerDir, p.At.Socket))
	}
	if p.At.Remote != "" {
		problems = append(problems, errors.New("at must be a socket or a port: the plan starts the server"))
	}
	if p.Client == "" || p.Ends == "" || len(p.Serve) == 0 {
		problems = append(problems, errors.New("client, ends or serve is missing"))
	}
	for _, argv := range slices.Concat(p.Make, p.Finish) {
		if len(argv) == 0 {
			problems = append(problems, errors.New("make or finish has an empty command"))
		}
	}
	if p.Keeps != "" && (!path.IsAbs(p.Keeps) || path.Clean(p.Keeps) != p.Keeps || p.Keeps == "/") {
		problems = append(problems, fmt.Errorf("keeps must be an absolute path, not %q", p.Keeps))
	}
	for name := range p.Files {
		if path.Base(name) != name || !filepath.IsLocal(name) || name == workload.ServerDir {
			problems = append(problems, fmt.Errorf("file %q must be a base name", name))
		}
	}
	return p, errors.Join(append(problems, p.Dataset.Check())...)
}
