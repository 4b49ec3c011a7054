package database

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
)

// defaultLayout is the layout of servers whose parameters have Plimsoll's own defaults.
const defaultLayout = "plimsoll"

// versionLayout is what a version of a server does by default, as far as the server of today can be configured so:
// for studies of the time of that version.
type versionLayout[P any] struct {
	version  string
	defaults func(*P)
	settings Settings // without a parameter of Plimsoll
	differs  []string // what the server of today cannot do, as sentences without their full stops
}

// Layouted is a server with the defaults of one of its versions.
type Layouted interface {
	// LayoutVersion returns the version; "" for Plimsoll's own defaults.
	LayoutVersion() string
	// LayoutDiffers returns what today's server does in another way, as sentences without their full stops.
	LayoutDiffers() []string
	// IsLayoutDefault reports whether a parameter has the value that it has by default in the layout.
	IsLayoutDefault(parameter string) bool
}

// layoutOf is the parameter that names the layout.
func layoutOf[P any](all []versionLayout[P], pointer func(*P) *string) field.Field[P] {
	names := []string{defaultLayout}
	for _, l := range all {
		names = append(names, l.version)
	}
	return field.Of("layout", "whose defaults the other parameters have: Plimsoll's, or those of a version of the server",
		field.OneOf(names...), pointer)
}

// findLayout returns the layout of a version; false for Plimsoll's own.
func findLayout[P any](all []versionLayout[P], version string) (versionLayout[P], bool) {
	i := slices.IndexFunc(all, func(l versionLayout[P]) bool { return l.version == version })
	if i < 0 {
		return versionLayout[P]{}, false
	}
	return all[i], true
}

// decodeLayout reads the YAML below a database's key onto the defaults of the layout that it names.
func decodeLayout[P any](t field.Table[P], all []versionLayout[P], version func(*P) *string, kind, example string,
	node *yaml.Node, defaults P,
) (P, problem.List) {
	p, problems := decode(t, kind, example, node, defaults)
	l, ok := findLayout(all, *version(&p))
	if !ok {
		return p, problems
	}
	l.defaults(&defaults)
	*version(&defaults) = l.version
	return decode(t, kind, example, node, defaults)
}

// over returns the settings of a layout with those of a file in their place.
func (s Settings) over(layout Settings) Settings {
	merged := maps.Clone(layout)
	if merged == nil {
		return s
	}
	maps.Copy(merged, s)
	return merged
}
