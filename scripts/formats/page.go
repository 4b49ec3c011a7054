package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// key is a key of an object.
type key struct {
	name, typ, unit, meaning string

	in       *declared // the type that has it
	expr     ast.Expr
	goName   string
	optional bool
	depth    int // of embedded types
}

// heading is where the table of a type is.
type heading struct{ page, text string }

// link returns a link to the table from a page.
func (h heading) link(page string) string {
	anchor := "#" + h.text
	if h.page != page {
		anchor = h.page + ".md" + anchor
	}
	return "[`" + h.text + "`](" + anchor + ")"
}

// writer writes the tables of types, each once.
type writer struct {
	source  *source
	page    string
	out     *strings.Builder
	seen    map[*declared]heading
	waiting []*declared
}

// describe returns the keys of all formats by page. What formats have in common is on the page that comes first.
func describe(root string) (map[string]string, error) {
	pages := map[string]string{}
	w := &writer{source: &source{root: root, packages: map[string]*pkg{}}, seen: map[*declared]heading{}}
	for _, f := range formats {
		w.page, w.out = f.page, &strings.Builder{}
		err := w.format(f)
		if err != nil {
			return nil, err
		}
		pages[f.page] += w.out.String()
	}
	return pages, nil
}

func (w *writer) format(f format) error {
	p, err := w.source.load(f.dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "### %s\n\n", f.title)
	if f.csv != "" {
		columns, err := p.columns(f.csv)
		if err == nil {
			fmt.Fprintf(w.out, "Columns: `%s`.\n\n", strings.Join(columns, "`, `"))
		}
		return err
	}
	root := p.types[f.typ]
	if root == nil {
		return fmt.Errorf("%s has no type %s: what does plimsoll write for %s?", f.dir, f.typ, f.title)
	}
	if f.list != "" {
		fmt.Fprintf(w.out, "A list, `%s`, of:\n\n", f.list)
	}
	w.seen[root] = heading{f.page, f.title}
	err = w.table(root, "")
	for len(w.waiting) > 0 && err == nil {
		next := w.waiting[0]
		w.waiting = w.waiting[1:]
		text := w.seen[next].text
		fmt.Fprintf(w.out, "#### `%s`\n\n", text)
		comment, named := strings.CutPrefix(next.comment, next.name+" ")
		if named {
			comment = "`" + text + "` " + comment
		}
		err = w.table(next, comment)
	}
	return err
}

// table writes the keys of a type below its comment.
func (w *writer) table(in *declared, comment string) error {
	object, is := in.expr.(*ast.StructType)
	if values := in.pkg.values[in.name]; !is && len(values) > 0 {
		if comment != "" {
			fmt.Fprintf(w.out, "%s\n\n", comment)
		}
		w.out.WriteString("| value | meaning |\n|---|---|\n")
		for _, v := range values {
			fmt.Fprintf(w.out, "| %s | %s |\n", v.code(), strings.ReplaceAll(v.comment, "|", "\\|"))
		}
		w.out.WriteString("\n")
		return nil
	}
	if !is {
		text, err := w.typeOf(in, in.expr, "")
		if err == nil {
			fmt.Fprintf(w.out, "%s.\n\n", strings.ToUpper(text[:1])+text[1:])
		}
		return err
	}
	keys, err := w.keys(in, object, "", 0)
	if err != nil {
		return err
	}
	keys = shallowest(keys)
	for i := range keys {
		err := w.complete(&keys[i])
		if err != nil {
			return err
		}
	}
	keys = named(keys)
	for _, k := range keys {
		comment = k.within(comment)
	}
	if comment != "" {
		fmt.Fprintf(w.out, "%s\n\n", comment)
	}
	w.out.WriteString("| key | type | unit | meaning |\n|---|---|---|---|\n")
	for _, k := range keys {
		fmt.Fprintf(w.out, "| `%s` | %s | %s | %s |\n", k.name, k.typ, k.unit, strings.ReplaceAll(k.meaning, "|", "\\|"))
	}
	w.out.WriteString("\n")
	return nil
}

// shallowest returns the keys that Go writes: a field hides those of embedded types that have its name or its key.
func shallowest(keys []key) (out []key) {
	for _, k := range keys {
		hidden := slices.ContainsFunc(keys, func(other key) bool {
			return other.depth < k.depth && (other.goName == k.goName || other.name == k.name)
		})
		if !hidden && k.name != "-" {
			out = append(out, k)
		}
	}
	return out
}

// named returns the keys with meanings that name other keys as JSON has them, where comments name fields of Go.
func named(keys []key) []key {
	for i := range keys {
		k := &keys[i]
		for _, other := range keys {
			if strings.Contains(other.name, ".") {
				continue
			}
			code := "`" + other.name + "`"
			if rest, is := strings.CutPrefix(k.meaning, other.goName+" "); is && (other.goName == k.goName ||
				strings.HasPrefix(rest, "and ") || strings.ToLower(other.goName[1:]) != other.goName[1:]) {
				k.meaning = code + " " + rest
			}
			k.meaning = other.within(k.meaning)
		}
		left := "null"
		if strings.HasSuffix(k.typ, ", optional") {
			left = "left out"
		}
		k.meaning = nothing.ReplaceAllString(k.meaning, left)
	}
	return keys
}

// code returns a value as pages show it.
func (v value) code() string {
	if v.text == "" {
		return "empty"
	}
	return "`" + v.text + "`"
}

// within returns a text with the key in the place of its field's name, but for names that begin a sentence.
func (k key) within(text string) string {
	if strings.Contains(k.name, ".") {
		return text
	}
	return regexp.MustCompile(`([a-z,;:/)] )`+k.goName+`\b`).ReplaceAllString(text, "${1}`"+k.name+"`")
}

// nothing is what Go has for no value.
var nothing = regexp.MustCompile(`\bnil\b`)

// keys returns the keys of an object, below a prefix for those of an object without a name of its own.
func (w *writer) keys(in *declared, object *ast.StructType, prefix string, depth int) (keys []key, err error) {
	for _, field := range object.Fields.List {
		tag := ""
		if field.Tag != nil {
			text, _ := strconv.Unquote(field.Tag.Value)
			tag = reflect.StructTag(text).Get("json")
		}
		name, options, _ := strings.Cut(tag, ",")
		meaning := oneLine(field.Doc.Text() + field.Comment.Text())
		if len(field.Names) == 0 && name == "" {
			embedded, err := w.embedded(in, field.Type, prefix, depth)
			if err != nil {
				return nil, err
			}
			keys = append(keys, embedded...)
			continue
		}
		for _, fieldName := range field.Names {
			if !fieldName.IsExported() {
				continue
			}
			k := key{name: prefix + cmp.Or(name, fieldName.Name), in: in, expr: field.Type, goName: prefix + fieldName.Name,
				meaning: meaning, optional: strings.Contains(options, "omit"), depth: depth}
			if name == "-" {
				k.name = "-"
			}
			keys = append(keys, k)
			inner, list := inner(field.Type)
			nested, is := inner.(*ast.StructType)
			if is {
				below, err := w.keys(in, nested, k.name+list+".", depth)
				if err != nil {
					return nil, err
				}
				keys = append(keys, below...)
			}
		}
	}
	return keys, nil
}

// complete finds what the type of a key says of it.
func (w *writer) complete(k *key) (err error) {
	k.typ, err = w.typeOf(k.in, k.expr, "")
	if err != nil {
		return err
	}
	switch {
	case strings.Contains(k.typ, "number"), strings.Contains(k.typ, "estimate"):
		k.unit = unitOf(k.name, k.meaning)
	case strings.Contains(k.typ, "integer"):
		k.unit = unitOf(k.name)
	}
	switch k.typ {
	case "time":
		k.unit = "RFC 3339, UTC"
	case "duration":
		k.typ, k.unit = "integer", "ns"
	}
	if k.optional {
		k.typ += ", optional"
	}
	return nil
}

// embedded returns the keys that an embedded type adds.
func (w *writer) embedded(in *declared, e ast.Expr, prefix string, depth int) ([]key, error) {
	e, _ = inner(e)
	found, err := w.source.find(in, e)
	if err != nil || found == nil {
		return nil, err
	}
	object, is := found.expr.(*ast.StructType)
	if !is {
		return nil, nil
	}
	return w.keys(found, object, prefix, depth+1)
}

// inner returns what a pointer or list is of, and "[]" for a list.
func inner(e ast.Expr) (ast.Expr, string) {
	list := ""
	for {
		switch node := e.(type) {
		case *ast.StarExpr:
			e = node.X
		case *ast.ArrayType:
			e, list = node.Elt, "[]"
		default:
			return e, list
		}
	}
}

// basic are the types of JSON that Go's own have.
var basic = map[string]string{"string": "text", "bool": "true or false", "any": "any", "float64": "number",
	"float32": "number", "error": "text", "byte": "integer", "rune": "integer"}

// foreign are those of other packages' types.
var foreign = map[string]string{"time.Time": "time", "time.Duration": "duration", "json.RawMessage": "any",
	"digest.Digest": "text"}

// typeOf returns the type of an expression in words; plural where it is of a list.
func (w *writer) typeOf(in *declared, e ast.Expr, plural string) (string, error) {
	switch node := e.(type) {
	case *ast.StarExpr:
		return w.typeOf(in, node.X, plural)
	case *ast.ArrayType:
		text, err := w.typeOf(in, node.Elt, "s")
		return "list" + plural + " of " + text, err
	case *ast.MapType:
		from, err := w.typeOf(in, node.Key, "")
		if err != nil {
			return "", err
		}
		text, err := w.typeOf(in, node.Value, "s")
		return "object" + plural + " of " + text + " by " + from, err
	case *ast.StructType:
		return "object" + plural, nil
	case *ast.InterfaceType:
		return "any", nil
	case *ast.Ident:
		switch name := basic[node.Name]; name {
		case "":
		case "number", "integer":
			return name + plural, nil
		default:
			return name, nil
		}
		if strings.HasPrefix(node.Name, "int") || strings.HasPrefix(node.Name, "uint") {
			return "integer" + plural, nil
		}
	case *ast.SelectorExpr:
		if pkg, is := node.X.(*ast.Ident); is && foreign[pkg.Name+"."+node.Sel.Name] != "" {
			return foreign[pkg.Name+"."+node.Sel.Name], nil
		}
	}
	found, err := w.source.find(in, e)
	switch {
	case err != nil:
		return "", err
	case found == nil:
		return "", fmt.Errorf("%s.%s: what does JSON have for %T?", in.pkg.name, in.name, e)
	case found.pkg.marshals["MarshalText "+found.name]:
		return "text", nil
	}
	if _, object := found.expr.(*ast.StructType); object {
		return w.link(found), nil
	}
	if found.pkg.marshals["MarshalJSON "+found.name] {
		return "number, or null", nil // model.Number alone
	}
	values := found.pkg.values[found.name]
	if slices.ContainsFunc(values, func(v value) bool { return v.comment != "" }) {
		return w.link(found), nil
	}
	if len(values) > 0 {
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = v.code()
		}
		return strings.Join(texts, ", "), nil
	}
	return w.typeOf(found, found.expr, plural)
}

// link returns a link to the table of a type, which is to be written if it was not.
func (w *writer) link(found *declared) string {
	if _, is := w.seen[found]; !is {
		text := strings.ToLower(apart(found.name))
		taken := func(text string) bool {
			for _, other := range w.seen {
				if other.page == w.page && strings.EqualFold(other.text, text) {
					return true
				}
			}
			return false
		}
		if taken(text) {
			text = found.pkg.name + "_" + text
		}
		w.seen[found] = heading{w.page, text}
		w.waiting = append(w.waiting, found)
	}
	return w.seen[found].link(w.page)
}

// units are those that a key says, at its end or as a whole, and behind them those that its comment says.
var units = [][]unit{
	{
		says(`bytes_per_second$`, "bytes/s"), says(`bytes(_per_io)?$`, "bytes"), says(`(^|_)per_second$|iops$`, "1/s"),
		says(`(^|_)ns$`, "ns"), says(`seconds$`, "s"), says(`(^|_)percent$`, "percent"), says(`(^|_)share$`, "share"),
		says(`(^|_)ratio$`, "ratio"), says(`(^|_)cpus$|^(user|system)_cpu$`, "processors"), says(`(^|_)rate$`, "1/s"),
		says(`^(p|p_adjusted|adjusted|alpha|coverage|confidence)$`, "probability"),
	},
	{
		says(`\bshares?\b`, "share"), says(`\bseconds between\b|^s\b|, s$`, "s"), says(`^bytes\b|, bytes$`, "bytes"),
		says(`(operations|completed|offered|reads|writes) (per|a) second|^(a|per) second\b`, "1/s"),
	},
}

// unit is a unit, and the text that says it.
type unit struct {
	text *regexp.Regexp
	name string
}

func says(text, name string) unit { return unit{regexp.MustCompile(text), name} }

// unitOf returns the unit of a number; "" where neither its key nor its comment says it.
func unitOf(texts ...string) string {
	for i, text := range texts {
		for _, u := range units[i] {
			if u.text.MatchString(text) {
				return u.name
			}
		}
	}
	return ""
}

// columns returns the heads of a table: those of a variable, or the first arguments of all calls of a method.
func (p *pkg) columns(name string) (columns []string, err error) {
	switch value := p.variables[name].(type) {
	case *ast.CompositeLit:
		for _, e := range value.Elts {
			columns = append(columns, written(e))
		}
		return columns, nil
	case *ast.BinaryExpr, *ast.BasicLit:
		return strings.Split(strings.TrimSpace(written(value)), ","), nil
	}
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is || len(call.Args) != 2 {
				return true
			}
			method, is := call.Fun.(*ast.SelectorExpr)
			if is && method.Sel.Name == name {
				if column := written(call.Args[0]); column != "" && !slices.Contains(columns, column) {
					columns = append(columns, column)
				}
			}
			return true
		})
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf("%s: no columns of %s", p.dir, name)
	}
	return columns, nil
}

// written returns the text of an expression; names of variables are in capital letters.
func written(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value) // the parser read it
			return text
		}
	case *ast.BinaryExpr:
		return written(e.X) + written(e.Y)
	case *ast.Ident:
		return capitals(e.Name)
	case *ast.SelectorExpr:
		return capitals(e.Sel.Name)
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			return written(e.Args[0])
		}
	}
	return ""
}

var (
	smallThenCapital = regexp.MustCompile(`([a-z])([A-Z])`)
	capitalThenWord  = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
)

// apart returns a name of Go with its words apart: "CPU_Share".
func apart(name string) string {
	name = capitalThenWord.ReplaceAllString(name, "${1}_$2")
	return smallThenCapital.ReplaceAllString(name, "${1}_$2")
}

// capitals returns a name in capital letters, its words apart.
func capitals(name string) string { return strings.ToUpper(apart(name)) }
