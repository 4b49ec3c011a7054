package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// module is one that a program holds. That of Go itself is the standard library.
type module struct {
	path, version string
}

const standardLibrary = "std"

// modulesOf returns the modules in a program, sorted, without this one's own.
func modulesOf(program string) ([]module, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	return modulesIn(info), nil
}

func modulesIn(info *debug.BuildInfo) []module {
	modules := []module{{standardLibrary, strings.TrimPrefix(info.GoVersion, "go")}}
	for _, d := range info.Deps {
		for d.Replace != nil {
			d = d.Replace
		}
		if d.Version == "" || d.Version == "(devel)" { // a directory of this clone
			continue
		}
		modules = append(modules, module{d.Path, d.Version})
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.path, b.path) })
	return modules
}

// component is one of a list of CycloneDX 1.6.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

func purl(name, version string) string { return "pkg:golang/" + name + "@" + version }

// writeBOM writes the list of the modules in a program. Its serial number follows from the list.
func writeBOM(w io.Writer, name, version, arch string, modules []module, date time.Time) error {
	program := component{
		"application",
		name,
		name,
		version,
		"pkg:generic/" + name + "@" + version + "?arch=" + arch + "&os=linux",
	}
	components := []component{}
	refs := []string{}
	for _, m := range modules {
		c := component{"library", purl(m.path, m.version), m.path, m.version, purl(m.path, m.version)}
		components, refs = append(components, c), append(refs, c.Ref)
	}
	type object = map[string]any
	bom := object{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata": object{"timestamp": date.Format(time.RFC3339), "component": program},
		// All are in the program; which asks for which is not known of a binary.
		"components":   components,
		"dependencies": []object{{"ref": program.Ref, "dependsOn": refs}},
	}
	text, err := json.Marshal(bom)
	if err != nil {
		return err
	}
	h := sha256.Sum256(text)
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // a UUID of version 8
	bom["serialNumber"] = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(bom)
}

// printLicenses prints those of a program that was built here, for this host.
func printLicenses(name string) error {
	i := slices.IndexFunc(programs, func(p program) bool { return p.name == filepath.Base(name) })
	if i < 0 {
		return fmt.Errorf("%s is none of the programs that are released", name)
	}
	modules, err := modulesOf(name)
	if err != nil {
		return err
	}
	text, err := licensesOf(modules, programs[i], runtime.GOARCH)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

// legal matches the files of a module that have to go with it.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|unlicense)([.-].*)?$`)

// licensesOf returns the licenses and notices of the modules in a program, from Go's module cache, which has all
// that it was built of.
func licensesOf(modules []module, p program, arch string) ([]byte, error) {
	paths, err := directories(p, arch)
	if err != nil {
		return nil, err
	}
	// golang.org/x/sys has the authors and the license of the standard library, whose own file distributions of Go keep
	// in many places.
	paths[standardLibrary] = paths["golang.org/x/sys"]
	var out bytes.Buffer
	for _, m := range modules {
		texts, err := legalFiles(paths[m.path])
		if err != nil {
			return nil, fmt.Errorf("the licenses of %s %s: %w", m.path, m.version, err)
		}
		if len(texts) == 0 {
			return nil, fmt.Errorf("%s %s has no license in %s: it must not be handed on", m.path, m.version, paths[m.path])
		}
		for _, text := range texts {
			fmt.Fprintf(&out, "%s\n%s %s\n\n%s\n\n", strings.Repeat("=", 80), m.path, m.version, bytes.TrimSpace(text))
		}
	}
	return out.Bytes(), nil
}

// directories returns where the modules are that a program is built of.
func directories(p program, arch string) (map[string]string, error) {
	cmd := exec.Command("go", "list", "-deps", "-f", `{{with .Module}}{{with .Replace}}{{.Path}}{{"\t"}}{{.Dir}}{{else}}`+
		`{{.Path}}{{"\t"}}{{.Dir}}{{end}}{{end}}`, p.pkg)
	cmd.Dir, cmd.Env, cmd.Stderr = p.dir, append(os.Environ(), "GOARCH="+arch), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules of %s: %w", p.name, err)
	}
	paths := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, at, _ := strings.Cut(strings.TrimSpace(line), "\t")
		paths[name] = at
	}
	return paths, nil
}

func legalFiles(dir string) (texts [][]byte, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !legal.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}
