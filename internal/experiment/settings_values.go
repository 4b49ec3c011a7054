package experiment

import (
	"errors"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v3"

	"plimsoll/internal/field"
	"plimsoll/internal/result"
)

// content is a setting that only files have, with a function that reads it. A run stores it unchanged.
type content struct {
	written any // zero value of its type in files, for the schema
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

// scalar is a setting of one value.
type scalar[T any] struct {
	kind    field.Kind[T]
	initial any    // default value, for editors; nil for none
	advice  string // the remedy for an invalid value in a file; "" for the kind's own
	pointer func(*Experiment) *T
	storedField[T]
}

// storedField accesses a setting in a stored run.
type storedField[T any] struct {
	put func(to *result.Experiment, v T)
	get func(from *result.Experiment) T
}

// as returns how a value is stored as it is.
func as[T any](at func(*result.Experiment) *T) storedField[T] {
	return storedField[T]{
		func(to *result.Experiment, v T) { *at(to) = v },
		func(from *result.Experiment) T { return *at(from) },
	}
}

// inSeconds returns how a time is stored in seconds.
func inSeconds(at func(*result.Experiment) *float64) storedField[time.Duration] {
	return storedField[time.Duration]{func(to *result.Experiment, d time.Duration) { *at(to) = d.Seconds() },
		func(from *result.Experiment) time.Duration { return time.Duration(*at(from) * float64(time.Second)) }}
}

func runtimeOf(e *Experiment) *time.Duration { return &e.Timing.Runtime }
func rampOf(e *Experiment) *time.Duration    { return &e.Timing.Ramp }
func budgetOf(e *Experiment) *time.Duration  { return &e.Budget }

func (v scalar[T]) schema(*jsonschema.Reflector) *jsonschema.Schema {
	s := v.kind.Schema()
	s.Default = v.initial
	return s
}

func (v scalar[T]) read(p *parser, n *yaml.Node, key string) {
	before := len(p.Problems)
	*v.pointer(p.e), _ = field.Value(&p.Reader, n, key, v.kind)
	if v.advice != "" && len(p.Problems) > before {
		p.Problems[before].Remedy = v.advice
	}
}

func (v scalar[T]) set(e *Experiment, text string) error {
	read, err := v.kind.Parse(text)
	if err == nil {
		*v.pointer(e) = read
	}
	return err
}

func (v scalar[T]) store(e *Experiment, to *result.Experiment) { v.put(to, *v.pointer(e)) }

func (v scalar[T]) restore(e *Experiment, from *result.Experiment) error {
	*v.pointer(e) = v.get(from)
	return nil
}

// onOff is true or false in a file. Its flags take no value.
type onOff struct {
	inverted bool // true in a file is false in the experiment
	pointer  func(*Experiment) *bool
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

func (v onOff) read(p *parser, n *yaml.Node, key string) {
	set, _ := field.Value(&p.Reader, n, key, field.Switch)
	*v.pointer(p.e) = set != v.inverted
}

func (v onOff) set(e *Experiment, text string) error {
	set, err := field.Switch.Parse(text)
	*v.pointer(e) = set != v.inverted
	return err
}

func (v onOff) store(e *Experiment, to *result.Experiment) { *v.stored(to) = *v.pointer(e) }

func (v onOff) restore(e *Experiment, from *result.Experiment) error {
	*v.pointer(e) = *v.stored(from)
	return nil
}

// fixedTime is true or false in a file. Its flag takes the time, which is then the runtime.
type fixedTime struct{ is onOff }

func (v fixedTime) schema(r *jsonschema.Reflector) *jsonschema.Schema { return v.is.schema(r) }

func (v fixedTime) read(p *parser, n *yaml.Node, key string) { v.is.read(p, n, key) }

func (v fixedTime) set(e *Experiment, text string) error {
	runtime, err := aTime.Parse(text)
	if err != nil {
		return err
	}
	e.Timing.Runtime = runtime
	return v.is.set(e, on)
}

func (v fixedTime) store(e *Experiment, to *result.Experiment) { v.is.store(e, to) }

func (v fixedTime) restore(e *Experiment, from *result.Experiment) error {
	return v.is.restore(e, from)
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

func (seedValue) schema(*jsonschema.Reflector) *jsonschema.Schema { return field.Seed.Schema() }

func (seedValue) read(p *parser, n *yaml.Node, key string) {
	seed, _ := field.Value(&p.Reader, n, key, field.Seed)
	p.e.Seed = &seed
}

func (seedValue) set(e *Experiment, text string) error {
	seed, err := field.Seed.Parse(text)
	e.Seed = &seed
	return err
}

func (seedValue) store(*Experiment, *result.Experiment)                {}
func (seedValue) restore(*Experiment, *result.Experiment) (none error) { return nil }
