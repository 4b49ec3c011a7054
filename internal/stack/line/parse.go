package line

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/problem"
)

// Parse reads the notation. It knows the grammar only; Catalog.Check tells
// whether the line means something. The error is a problem.List, with at most one
// problem for each node.
//
//	line    = node { "+" node } { ">" node }
//	node    = ( name [ ":" value ] | path ) [ "(" [ option { "," option } ] ")" ]
//	option  = name [ "=" value ]
//	name    = a letter or digit, then letters, digits, "-", "_" and "."
//	path    = a value that starts with "/"
//	value   = one or more characters, none of them , ( ) > " or a blank;
//	          or anything between double quotes, with \" and \\ for " and \
//
// Blanks are allowed around every sign, but not inside of name:value and
// key=value. A value may contain "+", so one stands behind a blank when it is
// to join what follows a value without quotes or parentheses. An equals sign needs no quotes in a value: an option's key ends
// at the first one, and mount=data=ordered means what it looks like. Control
// characters are refused everywhere.
func Parse(text string) (Line, error) {
	p := &parser{text: []rune(text)}
	var l Line
	if valid := validPrefix(text); valid < len(text) {
		p.problem(utf8.RuneCountInString(text[:valid])+1, "this is not UTF-8 text", "")
	} else {
		l = p.line()
	}
	if len(p.problems) > 0 {
		return Line{}, p.problems.Within(fmt.Sprintf("stack %q", text))
	}
	return l, nil
}

// validPrefix is the length of the longest prefix of text that is UTF-8.
func validPrefix(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return len(text)
}

type parser struct {
	text     []rune
	pos      int
	problems problem.List
}

// end marks the end of the text. It is a control character, which no text may contain.
const end = rune(0)

func (p *parser) peek() rune {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return end
}

func (p *parser) accept(r rune) bool {
	if p.pos < len(p.text) && p.text[p.pos] == r {
		p.pos++
		return true
	}
	return false
}

func (p *parser) blanks() {
	for unicode.IsSpace(p.peek()) {
		p.pos++
	}
}

func (p *parser) problem(column int, what, remedy string) {
	p.problems.InColumn(column, what, remedy)
}

// addExpected adds the problem that another text than what is at the current position. It returns false.
func (p *parser) addExpected(what, remedy string) bool {
	p.problem(p.pos+1, "expected "+what+", found "+p.describeNext(), remedy)
	return false
}

// describeNext describes the text at the current position.
func (p *parser) describeNext() string {
	if p.pos >= len(p.text) {
		return "the end"
	}
	return fmt.Sprintf("%q", p.text[p.pos])
}

func (p *parser) line() Line {
	var l Line
	p.blanks()
	if p.pos == len(p.text) {
		p.problem(
			1,
			"the stack is empty",
			"write its source first: loop(size=4GiB), tmpfs(size=1GiB), dir:/srv/data, or the path of a device",
		)
		return l
	}
	for joined := false; ; {
		p.blanks()
		n := Node{Column: p.pos + 1}
		if !p.node(&n) {
			p.skipNode()
		}
		if joined {
			l.Nodes[0].And = append(l.Nodes[0].And, n)
		} else {
			l.Nodes = append(l.Nodes, n)
		}
		plus := p.pos + 1
		switch joined = p.accept('+'); {
		case joined && len(l.Nodes) > 1:
			p.problem(
				plus,
				"+ joins sources, and these come before the first >",
				"write /dev/nvme0n1 + /dev/nvme1n1 > lvm-stripe > xfs",
			)
			joined = false
		case !joined && !p.accept('>'):
			return l
		}
	}
}

// skipNode skips the rest of a node that has a problem, so that the nodes behind it are parsed too.
func (p *parser) skipNode() {
	for quoted := false; p.pos < len(p.text); p.pos++ {
		switch p.text[p.pos] {
		case '"':
			quoted = !quoted
		case '>':
			if !quoted {
				return
			}
		case '+':
			if !quoted && p.pos > 0 && (p.text[p.pos-1] == ')' || unicode.IsSpace(p.text[p.pos-1])) {
				return
			}
		}
	}
}

// node reads a node and the blanks behind it. It is false when there was a
// problem, which is noted then.
func (p *parser) node(n *Node) bool {
	if r := p.peek(); r == '/' || r == '"' {
		n.Name = NameDevice
		if !p.value(&n.Arg, "a path", "") {
			return false
		}
		if !strings.HasPrefix(n.Arg, "/") {
			p.problem(
				n.Column,
				fmt.Sprintf("expected a path, found %q", n.Arg),
				"a path starts with a slash: /dev/nvme0n1; a name needs no quotes",
			)
			return false
		}
	} else {
		if !p.name(&n.Name, "the name of a source or layer, or a path") {
			return false
		}
		if p.accept(':') {
			column := p.pos + 1
			if !p.value(&n.Arg, "a value after the colon of "+n.Name, "") {
				return false
			}
			if n.Arg == "" {
				p.problem(column, "expected a value after the colon of "+n.Name+", found nothing in quotes", "")
				return false
			}
		}
	}
	p.blanks()
	if p.accept('(') && !p.options(n) {
		return false
	}
	p.blanks()
	switch r := p.peek(); {
	case p.pos == len(p.text) || r == '>' || r == '+':
		return true
	case r == '/':
		return p.addExpected(`"(", ">" or the end`, "a path starts with a slash: /dev/nvme0n1; names contain none")
	case r == '=':
		return p.addExpected(`"(", ">" or the end`, "write options in parentheses: loop(size=4GiB)")
	}
	return p.addExpected(`"(", ">" or the end`, "the parts of a stack are joined with >: loop(size=4GiB) > xfs")
}

// options reads what stands behind an opening parenthesis, up to and with the
// closing one.
func (p *parser) options(n *Node) bool {
	p.blanks()
	if p.accept(')') {
		return true
	}
	for {
		p.blanks()
		o := Option{Bare: true}
		if !p.name(&o.Key, "an option of "+n.Name) {
			return false
		}
		if p.accept('=') {
			o.Bare = false
			if !p.value(&o.Value, "the value of "+o.Key, `an empty value is written ""`) {
				return false
			}
		}
		n.Options = append(n.Options, o)
		p.blanks()
		switch {
		case p.accept(','):
		case p.accept(')'):
			return true
		case p.pos == len(p.text):
			return p.addExpected(`"," or ")"`, "close the parenthesis")
		default:
			return p.addExpected(
				`"," or ")"`,
				`a value with blanks or any of , ( ) > " needs double quotes: mkfs="-O ^has_journal"`,
			)
		}
	}
}

func isName(r rune, first bool) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		!first && (r == '-' || r == '_' || r == '.')
}

func (p *parser) name(to *string, expected string) bool {
	start := p.pos
	for isName(p.peek(), p.pos == start) {
		p.pos++
	}
	if p.pos == start {
		return p.addExpected(expected, "")
	}
	*to = string(p.text[start:p.pos])
	return true
}

// isPlain reports whether a value may contain r without quotes.
func isPlain(r rune) bool {
	return !strings.ContainsRune(`,()>"`, r) && !unicode.IsSpace(r) && !unicode.IsControl(r)
}

func (p *parser) value(to *string, expected, remedy string) bool {
	if p.peek() == '"' {
		return p.quoted(to)
	}
	start := p.pos
	for isPlain(p.peek()) {
		p.pos++
	}
	if p.pos == start {
		return p.addExpected(expected, remedy)
	}
	*to = string(p.text[start:p.pos])
	return true
}

func (p *parser) quoted(to *string) bool {
	start := p.pos
	p.pos++
	var b strings.Builder
	for p.pos < len(p.text) {
		r := p.text[p.pos]
		switch {
		case r == '"':
			p.pos++
			*to = b.String()
			return true
		case unicode.IsControl(r):
			return p.addExpected("the rest of a quoted value", "control characters are not allowed")
		case r == '\\':
			p.pos++
			if r = p.peek(); r != '"' && r != '\\' {
				return p.addExpected(`" or \ behind a backslash`, `a backslash in quotes is written \\`)
			}
		}
		b.WriteRune(r)
		p.pos++
	}
	p.problem(start+1, "this quote is never closed", `a quote in a quoted value is written \"`)
	return false
}
