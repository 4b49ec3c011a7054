package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"plimsoll/internal/printable"
)

// Three kinds of output. What is said to people goes to app.stdout and
// app.stderr, which let no codes pass, whoever's names and texts are in it. What
// has styles goes to styled, which lets those pass; and what programs read, to
// data, which changes nothing unless a terminal shows it.

// styled returns the writer for text that may be coloured, and was made printable before.
func (a *app) styled() io.Writer {
	if !wantsColor(a.stdout) {
		return a.stdout
	}
	return printable.StyledWriter(unfiltered(a.stdout))
}

// data returns the writer for JSON, CSV and scripts.
func (a *app) data() io.Writer {
	if isTerminal(a.stdout) {
		return a.stdout
	}
	return unfiltered(a.stdout)
}

// unfiltered returns the writer behind standard output or standard error. Use it for terminal control (a progress
// bar, another program), and not for texts that were not made printable.
func unfiltered(w io.Writer) io.Writer {
	if filter, ok := w.(*printable.Writer); ok {
		return filter.Unwrap()
	}
	return w
}

// documentSchema is the schema version of --json, for documents without one of their own.
const documentSchema = 1

// jsonDocument returns a document of the JSON that write writes.
func (a *app) jsonDocument(name string, write func(io.Writer) error) error {
	var text bytes.Buffer
	err := write(&text)
	if err != nil {
		return err
	}
	return a.document(name, json.RawMessage(text.Bytes()))
}

// document prints an answer as JSON: an object with its schema. Those of a list stand under their name.
func (a *app) document(name string, answer any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // stacks are written with ">"
	err := encoder.Encode(answer)
	if err != nil {
		return err
	}
	object := bytes.TrimSpace(text.Bytes())
	if object[0] != '{' {
		object = fmt.Appendf(nil, "{%q:%s}", name, object)
	}
	var own struct {
		Schema *int `json:"schema"`
	}
	err = json.Unmarshal(object, &own)
	if err != nil {
		return err
	}
	if own.Schema == nil {
		object = fmt.Appendf(nil, "{\"schema\":%d,%s", documentSchema, object[1:])
	}
	var out bytes.Buffer
	err = json.Indent(&out, object, "", "  ")
	if err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = a.data().Write(out.Bytes())
	return err
}
