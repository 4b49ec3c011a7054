package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/result"
	"plimsoll/internal/units"
)

// content is what only a file says, with a function of its own that reads it. A run stores it as it is.
type content struct {
	written any // a zero value of the type that is written, for the schema
	from    func(p *parser, n *yaml.Node)
}

func (c content) schema(r *jsonschema.Reflector) *jsonschema.Schema {
	s := r.Reflect(c.written)
	s.Version = "" // said once, at the root
	return s
}

func (c content) read(p *parser, n *yaml.Node, _ string)             { c.from(p, n) }
func (content) set(*Experiment, string) error                        { return errors.ErrUnsupported }
func (content) store(*Experiment, *result.Experiment)                {}
func (content) restore(*Experiment, *result.Experiment) (none error) { return nil }

// number is a whole number.
type number struct {
	least, most int    // most is 0 where there is no such bound
	initial     int    // where nobody says it; 0 where that is no number
	remedy      string // of what is no such number in a file
	at          func(*Experiment) *int
	stored      func(*result.Experiment) *int
}

func (v number) schema(*jsonschema.Reflector) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "integer", Minimum: decimal(v.least), Maximum: decimal(v.most)}
	if v.initial != 0 {
		s.Default = v.initial
	}
	return s
}

func decimal(n int) json.Number { return json.Number(strconv.Itoa(n)) }

func (v number) read(p *parser, n *yaml.Node, key string) {
	times, err := strconv.Atoi(n.Value)
	if n.Tag != "!!int" || err != nil || !v.admits(times) {
		p.Problem(n, fmt.Sprintf("%s is %s, not %s", key, v.takes(), describe(n)), v.remedy)
	}
	*v.at(p.e) = times
}

func (v number) set(e *Experiment, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || !v.admits(n) {
		return &FlagError{v.takes()}
	}
	*v.at(e) = n
	return nil
}

func (v number) admits(n int) bool { return n >= v.least && (v.most == 0 || n <= v.most) }

func (v number) takes() string {
	if v.most == 0 {
		return fmt.Sprintf("a number from %d", v.least)
	}
	return fmt.Sprintf("a number from %d to %d", v.least, v.most)
}

func (v number) store(e *Experiment, to *result.Experiment) { *v.stored(to) = *v.at(e) }

func (v number) restore(e *Experiment, from *result.Experiment) error {
	*v.at(e) = *v.stored(from)
	return nil
}

// duration is a time with its unit.
type duration struct {
	least   time.Duration
	initial string // where nobody says it
	takes   string // the flag
	at      func(*Experiment) *time.Duration
	stored  func(*result.Experiment) *float64 // in seconds
}

func runtimeOf(e *Experiment) *time.Duration { return &e.Timing.Runtime }
func rampOf(e *Experiment) *time.Duration    { return &e.Timing.Ramp }
func budgetOf(e *Experiment) *time.Duration  { return &e.Budget }

func (v duration) schema(*jsonschema.Reflector) *jsonschema.Schema {
	s := Duration("").JSONSchema()
	s.Default = v.initial
	return s
}

func (v duration) read(p *parser, n *yaml.Node, key string) { *v.at(p.e) = p.duration(n, key, v.least) }

func (v duration) set(e *Experiment, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < v.least {
		return &FlagError{v.takes}
	}
	*v.at(e) = d
	return nil
}

func (v duration) store(e *Experiment, to *result.Experiment) { *v.stored(to) = v.at(e).Seconds() }

func (v duration) restore(e *Experiment, from *result.Experiment) error {
	*v.at(e) = time.Duration(*v.stored(from) * float64(time.Second))
	return nil
}

// onOff is true or false in a file. Its flags take no value.
type onOff struct {
	inverted bool // true in a file is false in the experiment
	at       func(*Experiment) *bool
	stored   func(*result.Experiment) *bool
}

// The texts that Set takes for flags without a value.
const (
	on  = "on"
	off = "off"
)

func (v onOff) schema(*jsonschema.Reflector) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "boolean", Default: v.inverted}
}

func (v onOff) read(p *parser, n *yaml.Node, key string) { *v.at(p.e) = p.flag(n, key) != v.inverted }

func (v onOff) set(e *Experiment, text string) error {
	*v.at(e) = (text == on) != v.inverted
	return nil
}

func (v onOff) store(e *Experiment, to *result.Experiment) { *v.stored(to) = *v.at(e) }

func (v onOff) restore(e *Experiment, from *result.Experiment) error {
	*v.at(e) = *v.stored(from)
	return nil
}

// fixedTime is true or false in a file. Its flag takes the time, which is then the runtime.
type fixedTime struct{ is onOff }

func (v fixedTime) schema(r *jsonschema.Reflector) *jsonschema.Schema { return v.is.schema(r) }

func (v fixedTime) read(p *parser, n *yaml.Node, key string) { v.is.read(p, n, key) }

func (v fixedTime) set(e *Experiment, text string) error {
	err := duration{least: 1, takes: aTime, at: runtimeOf}.set(e, text)
	if err != nil {
		return err
	}
	return v.is.set(e, on)
}

func (v fixedTime) store(e *Experiment, to *result.Experiment) { v.is.store(e, to) }

func (v fixedTime) restore(e *Experiment, from *result.Experiment) error {
	return v.is.restore(e, from)
}

// portion is a share of something, in per cent: above 0% and below 100%, or less of that.
type portion struct {
	admits  func(share float64) bool
	bounds  string // in words, "above 0% and below 100%"
	example string
	initial string // where nobody says it; "" for none
	of      string // what the flag takes a share of; "" where there is no flag
	at      func(*Experiment) *float64
	stored  func(*result.Experiment) *float64
}

func (v portion) schema(*jsonschema.Reflector) *jsonschema.Schema {
	s := Share("").JSONSchema()
	if v.initial != "" {
		s.Default = v.initial
	}
	return s
}

func (v portion) read(p *parser, n *yaml.Node, key string) {
	share, err := parseShare(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || !v.admits(share) {
		p.Problem(n, fmt.Sprintf("%s is a share %s, not %s", key, v.bounds, describe(n)), "write "+v.example)
		return
	}
	*v.at(p.e) = share
}

func (v portion) set(e *Experiment, text string) error {
	share, err := parseShare(text)
	if err != nil || !v.admits(share) {
		return &FlagError{fmt.Sprintf("a share of %s, %s, such as %s", v.of, v.bounds, v.example)}
	}
	*v.at(e) = share
	return nil
}

// parseShare reads a share of a whole in per cent.
func parseShare(text string) (float64, error) {
	number, isShare := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if err == nil && (!isShare || !(share > 0 && share < 100)) {
		err = strconv.ErrRange
	}
	return share / 100, err
}

func (v portion) store(e *Experiment, to *result.Experiment) { *v.stored(to) = *v.at(e) }

func (v portion) restore(e *Experiment, from *result.Experiment) error {
	*v.at(e) = *v.stored(from)
	return nil
}

// preconditioning is a Precondition.
type preconditioning struct{}

func (preconditioning) schema(*jsonschema.Reflector) *jsonschema.Schema {
	return Preconditioning("").JSONSchema()
}

func (preconditioning) read(p *parser, n *yaml.Node, key string) {
	if n.Kind != yaml.ScalarNode {
		p.Problem(n, key+" is written on one line, not as "+describe(n), "write "+preconditionKeys)
		return
	}
	asked, err := ParsePrecondition(n.Value)
	if err != nil {
		p.Problem(n, key+": "+strings.ReplaceAll(err.Error(), "\n", "; "), "")
	}
	p.e.Precondition = asked
}

func (preconditioning) set(e *Experiment, text string) (err error) {
	e.Precondition, err = ParsePrecondition(text)
	return err
}

func (preconditioning) store(e *Experiment, to *result.Experiment) {
	to.Precondition = e.Precondition.String()
}

func (preconditioning) restore(e *Experiment, from *result.Experiment) (err error) {
	e.Precondition = Precondition{}
	if from.Precondition != "" {
		e.Precondition, err = ParsePrecondition(from.Precondition)
	}
	return err
}

// seedValue is the seed of the order of trials, which a run stores apart from its experiment: it has one in any case.
type seedValue struct{}

const aSeed = "a whole number from 0 to 2^64-1"

func (seedValue) schema(*jsonschema.Reflector) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: decimal(0)}
}

func (seedValue) read(p *parser, n *yaml.Node, key string) {
	seed, err := strconv.ParseUint(n.Value, 10, 64)
	if n.Tag != "!!int" || err != nil {
		p.Problem(n, fmt.Sprintf("%s is %s, not %s", key, aSeed, describe(n)), "")
	}
	p.e.Seed = &seed
}

func (seedValue) set(e *Experiment, text string) error {
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return &FlagError{aSeed}
	}
	e.Seed = &seed
	return nil
}

func (seedValue) store(*Experiment, *result.Experiment)                {}
func (seedValue) restore(*Experiment, *result.Experiment) (none error) { return nil }

// fileSize is the size of every workload's file.
type fileSize struct{}

func (fileSize) schema(*jsonschema.Reflector) *jsonschema.Schema { return nil }
func (fileSize) read(*parser, *yaml.Node, string)                {}

// decimalSize is a size in units that not everybody reads alike.
var decimalSize = regexp.MustCompile(`^\s*(\d+)\s*([kKmMgGtT][bB])\s*$`)

func (fileSize) set(e *Experiment, text string) error {
	bytes, err := units.ParseSize(text)
	if err != nil || bytes <= 0 {
		return &FlagError{"a size with its unit, such as 512MiB or 4GiB"}
	}
	unclear := decimalSize.FindStringSubmatch(text)
	if unclear != nil { // as sizes of workloads are read
		return fmt.Errorf("%s is 1000 to some and 1024 to others: write %s%siB",
			unclear[2], unclear[1], strings.ToUpper(unclear[2][:1]))
	}
	e.Scaled.Bytes = bytes
	return nil
}

func (fileSize) store(e *Experiment, to *result.Experiment) { to.SizeBytes = e.Scaled.Bytes }

func (fileSize) restore(e *Experiment, from *result.Experiment) error {
	e.Scaled.Bytes = from.SizeBytes
	return nil
}
