package line

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/field"
	"plimsoll/internal/problem"
	"plimsoll/internal/problem/suggest"
	"plimsoll/internal/units"
)

// Catalog holds the nodes that lines may be made of. Two nodes may share a
// name when they stand on different things: the file system btrfs stands on a
// block device, the storage driver btrfs on a file system.
type Catalog struct{ defs []Def }

// NewCatalog makes a catalog of nodes, in the order in which help lists them.
// It panics when two of them have the same name and stand on the same thing.
func NewCatalog(defs ...Def) *Catalog {
	c := &Catalog{}
	for _, d := range defs {
		if _, taken := c.Lookup(d.Name, d.Below); taken {
			panic(fmt.Sprintf("two nodes are called %q, both on %s", d.Name, d.Below))
		}
		c.defs = append(c.defs, d)
	}
	return c
}

// Defs returns all nodes, in the order of NewCatalog.
func (c *Catalog) Defs() []Def { return slices.Clone(c.defs) }

// Lookup returns the node of that name on top of a kind.
func (c *Catalog) Lookup(name string, kindBelow Kind) (Def, bool) {
	for _, d := range c.defs {
		if d.Name == name && d.Below == kindBelow {
			return d, true
		}
	}
	return Def{}, false
}

// defsNamed returns the nodes of that name.
func (c *Catalog) defsNamed(name string) []Def {
	var found []Def
	for _, d := range c.defs {
		if d.Name == name {
			found = append(found, d)
		}
	}
	return found
}

// names returns the names of nodes that may stand on a kind; of all layers for "".
func (c *Catalog) names(kindBelow Kind) []string {
	var names []string
	for _, d := range c.defs {
		fits := d.Below == kindBelow || kindBelow == "" && d.Below != Nothing
		name := d.Name
		if name == NameDevice {
			name = devicePath
		}
		if fits && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// devicePath is a placeholder for a device in help.
const devicePath = "/dev/NAME"

// Option finds an option of the node.
func (d Def) Option(key string) (OptionDef, bool) {
	for _, o := range d.Options {
		if o.Key == key {
			return o, true
		}
	}
	return OptionDef{}, false
}

// Setting returns the value of an option in n, its default when n does not mention it, and "" when there is none.
func (d Def) Setting(n Node, key string) string {
	if v, ok := n.Option(key); ok {
		return v
	}
	o, _ := d.Option(key)
	return o.Default
}

// Usage shows how the node is written, with all that it accepts:
// "loop(size=SIZE, direct-io=on|off, dir=PATH)".
func (d Def) Usage() string {
	usage := d.Name
	switch {
	case d.Name == NameDevice:
		usage = devicePath
	case d.Arg != "":
		usage += ":" + d.Arg
	}
	if len(d.Options) == 0 {
		return usage
	}
	options := make([]string, len(d.Options))
	for i, o := range d.Options {
		options[i] = o.usage()
	}
	return usage + "(" + strings.Join(options, ", ") + ")"
}

func (o OptionDef) usage() string {
	switch o.Value {
	case Flag:
		return o.Key
	case OnOff:
		return o.Key + "=on|off"
	case Chunk:
		return o.Key + "=" + strings.ToUpper(string(Size))
	}
	return o.Key + "=" + strings.ToUpper(string(o.Value))
}

// Check returns every problem of the line, in order; none when the line describes a stack that can be made.
func (c *Catalog) Check(l Line) problem.List {
	_, problems := l.Resolve(c)
	return problems
}

// Resolve returns the definition of each node; for joined sources, that of the first. With problems, definitions of
// unknown nodes are empty.
func (l Line) Resolve(c *Catalog) ([]Def, problem.List) {
	k := &checker{catalog: c, line: l}
	if len(l.Nodes) == 0 {
		k.problem(Node{}, "the stack is empty", "write its source first: "+strings.Join(c.sources(), ", "))
	}
	defs := make([]Def, len(l.Nodes))
	kindBelow := Nothing
	for i, n := range l.Nodes {
		if len(n.And) > 0 {
			defs[i] = k.joined()
			kindBelow = Blocks
			continue
		}
		d, ok := k.find(i, kindBelow)
		kindBelow = d.Gives
		if ok {
			defs[i] = d
			k.arg(n, d)
			k.options(n, d)
		}
	}
	if sources := l.Sources(); kindBelow == Blocks {
		last := sources[len(sources)-1]
		k.problem(
			last,
			fmt.Sprintf("%d devices are joined, and no layer makes one device of them", len(sources)),
			"put "+k.onBlocks()+" behind them",
		)
	}
	if len(k.problems) == 0 {
		k.sizes(defs)
	}
	return defs, k.problems
}

// sizes notes what stands on less than it has to. How much a device of the host holds is
// only known there.
func (k *checker) sizes(defs []Def) {
	sources := k.line.Sources()
	var bytes int64
	for _, n := range sources {
		d, _ := k.catalog.Lookup(n.Name, Nothing)
		option, _ := d.Option("size")
		held, err := field.Bytes.Parse(d.Setting(n, "size"))
		if option.Value != Size || err != nil {
			return
		}
		bytes += held
	}
	for i, d := range defs {
		if d.Least <= bytes {
			continue
		}
		each := (d.Least + int64(len(sources)) - 1) / int64(len(sources))
		k.problem(k.line.Nodes[i], fmt.Sprintf("%s stands on %s: %s", d.Name, units.FormatSize(bytes), d.WhyLeast),
			fmt.Sprintf("write %s(size=%s) or more, or take another file system", sources[0].Name, units.FormatSize(each)))
	}
}

// onBlocks names what makes one device of several.
func (k *checker) onBlocks() string { return strings.Join(k.catalog.names(Blocks), " or ") }

// joined checks joined sources, and returns the definition of the first.
func (k *checker) joined() (first Def) {
	seen := map[string]bool{}
	for i, n := range k.line.Sources() {
		d, ok := k.catalog.Lookup(n.Name, Nothing)
		if i == 0 {
			first = d
		}
		switch {
		case !ok && len(k.catalog.defsNamed(n.Name)) > 0:
			k.problem(
				n,
				fmt.Sprintf("%s is no source, and only sources are joined with +", describe(n)),
				"put it behind all sources, and > before it",
			)
			continue
		case !ok:
			k.addUnknown(n, Nothing)
			continue
		}
		k.arg(n, d)
		k.options(n, d)
		if d.Gives != Block {
			k.problem(
				n,
				fmt.Sprintf("%s gives a %s, and only block devices are joined with +", describe(n), d.Gives),
				"remove it, or name a device",
			)
		}
		if n.Arg != "" && seen[n.String()] {
			k.problem(n, describe(n)+" is named more than once", "name each device once")
		}
		seen[n.String()] = true
	}
	return first
}

// sources shows how the sources of the catalog are written.
func (c *Catalog) sources() []string {
	var usages []string
	for _, d := range c.defs {
		if d.Below == Nothing {
			usages = append(usages, d.Usage())
		}
	}
	return usages
}

type checker struct {
	catalog  *Catalog
	line     Line
	problems problem.List
}

func (k *checker) problem(n Node, what, remedy string) {
	k.problems.InColumn(n.Column, what, remedy)
}

// find returns the definition of node i. kindBelow is the kind that the node before it offers, "" if unknown.
func (k *checker) find(i int, kindBelow Kind) (Def, bool) {
	n := k.line.Nodes[i]
	named := k.catalog.defsNamed(n.Name)
	if d, ok := k.catalog.Lookup(n.Name, kindBelow); ok {
		if meant, told := defByOption(named, n); told && meant.Below != kindBelow {
			k.addMisplaced(i, kindBelow, meant)
			return meant, true
		}
		return d, true
	}
	if len(named) == 0 {
		return Def{Gives: k.addUnknown(n, kindBelow)}, false
	}
	d := closest(named, n)
	if kindBelow != "" {
		k.addMisplaced(i, kindBelow, d)
	}
	return d, true
}

// defByOption chooses among nodes of the same name the one with a required option that n has: thin(loop-lvm).
func defByOption(named []Def, n Node) (d Def, told bool) {
	for _, d := range named {
		for _, o := range n.Options {
			if def, ok := d.Option(o.Key); ok && def.Required {
				return d, true
			}
		}
	}
	return Def{}, false
}

// closest chooses among nodes of the same name the first that has all of n's
// options.
func closest(named []Def, n Node) Def {
	for _, d := range named {
		if !slices.ContainsFunc(n.Options, func(o Option) bool { _, ok := d.Option(o.Key); return !ok }) {
			return d
		}
	}
	return named[0]
}

// addUnknown adds the problem that no node has the name of n. It returns the kind that the likely correction of the
// name offers.
func (k *checker) addUnknown(n Node, kindBelow Kind) (gives Kind) {
	message := fmt.Sprintf("unknown layer %q", n.Name)
	if kindBelow == Nothing {
		message = fmt.Sprintf("unknown source %q", n.Name)
	}
	names := k.catalog.names(kindBelow)
	if len(names) == 0 {
		names = k.catalog.names("")
	}
	k.problem(n, message, suggest.DidYouMean(n.Name, names))
	meant, _ := k.catalog.Lookup(suggest.Closest(n.Name, names), kindBelow)
	return meant.Gives
}

// addMisplaced adds the problem that node i, which is d, is on top of the wrong kind.
func (k *checker) addMisplaced(i int, kindBelow Kind, d Def) {
	n := k.line.Nodes[i]
	name := n.Name
	if _, told := defByOption(k.catalog.defsNamed(name), n); told {
		name = n.String()
	}
	switch {
	case d.Below == Nothing:
		k.problem(n, fmt.Sprintf("%s is a source and comes first, not on %s", describe(n), describe(k.line.Nodes[i-1])),
			"remove one of them, or join block devices with +: /dev/nvme0n1 + /dev/nvme1n1")
	case kindBelow == View:
		k.problem(n, fmt.Sprintf("%s comes last: it is what the workload sees", describe(k.line.Nodes[i-1])),
			"remove what follows it")
	case kindBelow == Nothing:
		k.problem(n, fmt.Sprintf("%s needs a %s below it", name, d.Below), k.example(i, d))
	case kindBelow == Blocks:
		k.problem(n, fmt.Sprintf("%s needs one %s below it, and there are %d devices", name, d.Below, len(k.line.Sources())),
			"make one of them first, with "+k.onBlocks())
	case kindBelow == Pool:
		k.problem(
			n,
			fmt.Sprintf("%s needs a %s below it, and %s gives a %s", name, d.Below, describe(k.line.Nodes[i-1]), kindBelow),
			"on a thin pool stands "+strings.Join(k.catalog.names(Pool), " or "),
		)
	default:
		k.problem(
			n,
			fmt.Sprintf("%s needs a %s below it, and %s gives a %s", name, d.Below, describe(k.line.Nodes[i-1]), kindBelow),
			k.example(i, d),
		)
	}
}

// example shows a line that has node i, which is d, in the right place.
func (k *checker) example(i int, d Def) string {
	base := Line{Nodes: []Node{{Name: "loop", Options: []Option{{Key: "size", Value: "4GiB"}}}}}
	switch d.Below {
	case Blocks:
		base.Nodes[0] = Join(base.Nodes[0], base.Nodes[0])
	case FileSystem:
		// What stands below may be right up to its missing file system.
		if i > 0 {
			base = Line{Nodes: slices.Clone(k.line.Nodes[:i])}
		}
		fs := "xfs"
		if d.Name == "btrfs" { // the driver wants the file system of its name
			fs = d.Name
		}
		base.Nodes = append(base.Nodes, Node{Name: fs})
	}
	base.Nodes = append(base.Nodes, k.line.Nodes[i])
	return "write " + base.String()
}

// describe returns the name of a node for use in a sentence.
func describe(n Node) string {
	if n.Name == NameDevice {
		return "the device " + n.Arg
	}
	if len(n.And) > 0 {
		return "what is joined with +"
	}
	return n.Name
}

func (k *checker) arg(n Node, d Def) {
	switch {
	case n.Name == NameDevice:
		if n.Arg == "" || !strings.HasPrefix(n.Arg, "/") {
			k.problem(n, "a device is written as its path alone", "write /dev/nvme0n1, by-id:NAME or serial:SERIAL")
		}
	case d.Arg == "" && n.Arg != "":
		k.problem(n, fmt.Sprintf("%s takes no value after a colon", n.Name), "write "+d.Usage())
	case d.Arg != "" && n.Arg == "":
		k.problem(n, fmt.Sprintf("%s needs a %s", n.Name, d.Arg), "write "+d.Usage())
	case d.Arg == argPath && !isPath(n.Arg):
		k.problem(n, fmt.Sprintf("%q is a relative path", n.Arg),
			fmt.Sprintf("write %s:/%s, or %s:./%s when it is below the current directory", n.Name, n.Arg, n.Name, n.Arg))
	}
}

// argPath is the Def.Arg of nodes that name a directory.
const argPath = "PATH"

// isPath reports whether an argument is an absolute path, or one that starts with a dot and is relative to the
// current directory. A bare "srv/data" is more often a forgotten slash.
func isPath(arg string) bool {
	return arg == "." || arg == ".." ||
		strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, "./") || strings.HasPrefix(arg, "../")
}

func (k *checker) options(n Node, d Def) {
	seen := map[string]bool{}
	for i, o := range n.Options {
		def, ok := d.Option(o.Key)
		if !ok {
			k.unknownOption(n, d, i)
			continue
		}
		if seen[o.Key] && !def.Repeats {
			k.problem(n, fmt.Sprintf("option %s of %s is given more than once", o.Key, n.Name), "keep one of them")
		}
		seen[o.Key] = true
		if what, remedy := checkValue(def, o); what != "" {
			k.problem(n, fmt.Sprintf("option %s of %s: %s", o.Key, n.Name, what), remedy)
			continue
		}
		if def.Check == nil {
			continue
		}
		for _, p := range def.Check(o.Value) {
			k.problem(n, fmt.Sprintf("option %s of %s: %s", o.Key, n.Name, p.What), p.Remedy)
		}
	}
	for _, def := range d.Options {
		if def.Required && !seen[def.Key] {
			k.problem(n, fmt.Sprintf("%s needs the option %s", n.Name, def.Key), "add "+def.usage())
		}
	}
}

// unknownOption notes that option i of n is none of d's.
func (k *checker) unknownOption(n Node, d Def, i int) {
	o := n.Options[i]
	message := fmt.Sprintf("unknown option %q of %s", o.Key, n.Name)
	if len(d.Options) == 0 {
		k.problem(n, message, n.Name+" accepts none")
		return
	}
	var keys []string
	for _, def := range d.Options {
		keys = append(keys, def.Key)
	}
	// mount=noatime,nodiratime reads as two options.
	if suggest.Closest(o.Key, keys) == "" && i > 0 {
		before := n.Options[i-1]
		if def, _ := d.Option(before.Key); def.Value == Text {
			k.problem(
				n,
				message,
				fmt.Sprintf("a value with commas needs double quotes: %s=\"%s,%s\"", before.Key, before.Value, o),
			)
			return
		}
	}
	remedy := n.Name + " is written " + d.Usage()
	if meant := suggest.Closest(o.Key, keys); meant != "" {
		remedy = fmt.Sprintf("did you mean %q? %s", meant, remedy)
	}
	k.problem(n, message, remedy)
}

// The sizes of chunks that both LVM and md take: LVM wants none below a page
// or above its extents of 4 MiB (lvcreate(8)).
const (
	minChunk = 4 << 10
	maxChunk = 4 << 20
)

// checkValue returns the problem with the value of an option and its remedy, "" for none.
func checkValue(def OptionDef, o Option) (what, remedy string) {
	if def.Value == Flag {
		if !o.Bare {
			return "it takes no value", "write " + def.usage()
		}
		return "", ""
	}
	if o.Bare {
		return "it needs a value", "write " + def.usage()
	}
	switch def.Value {
	case Size:
		_, err := field.Bytes.Parse(o.Value)
		return refusal(o, err)
	case Chunk:
		bytes, err := field.Size(minChunk, maxChunk).Like("64KiB or 512KiB").Parse(o.Value)
		if err == nil && bytes&(bytes-1) != 0 {
			return o.Value + " is no power of two from 4KiB to 4MiB", "write 64KiB or 512KiB"
		}
		return refusal(o, err)
	case Number:
		_, err := field.Number(0, math.MaxInt64).Parse(o.Value)
		return refusal(o, err)
	case OnOff:
		if o.Value != "on" && o.Value != "off" {
			return fmt.Sprintf("%q is neither on nor off", o.Value), "write " + def.usage()
		}
	case Path:
		if !strings.HasPrefix(o.Value, "/") {
			return fmt.Sprintf("%q is not an absolute path", o.Value), "a path starts with a slash"
		}
	}
	return "", ""
}

// refusal returns why the value of an option was not read, and what to write.
func refusal(o Option, err error) (what, remedy string) {
	var wrong *field.Error
	if errors.As(err, &wrong) {
		return fmt.Sprintf("it takes %s, not %q", wrong.Takes, o.Value), wrong.Remedy
	}
	return "", ""
}

// OneOf returns what checks that a value is one of these words.
func OneOf(words ...string) func(value string) problem.List {
	return func(value string) problem.List {
		if slices.Contains(words, value) {
			return nil
		}
		return problem.List{{What: fmt.Sprintf("%q is none of its values", value), Remedy: suggest.DidYouMean(value, words)}}
	}
}
