package client

import (
	"fmt"
	"strconv"
	"strings"
)

// The tables of databases that have tables: one of the records, which is YCSB's, and one that
// says what these are like.
const (
	recordsTable = "usertable"
	factsTable   = "plimsoll_dataset"
	factsColumn  = "sizes"
)

// plainVersion returns the number in a server's text on its version.
func plainVersion(text string) string {
	for _, word := range strings.Fields(text) {
		if word[0] >= '0' && word[0] <= '9' {
			number, _, _ := strings.Cut(word, "-")
			return number
		}
	}
	return ""
}

// sizes are the fields of a record and the bytes of each.
func sizes(fields, bytes int) string { return fmt.Sprintf("%d x %d", fields, bytes) }

// sameSizes sees that records are what the caller takes them for.
func sameSizes(has string, c Config) error {
	if want := sizes(c.Fields, c.FieldBytes); has != want {
		return fmt.Errorf("it has records of %s bytes, and not of %s: this is another dataset", has, want)
	}
	return nil
}

// columns are those of a table whose rows are records: a key, and the fields.
type columns struct{ fields int }

// named is the names of a field, or of all.
func (c columns) named(field int) string {
	return c.join(field, func(name string, _ int) string { return name })
}

// row is a placeholder for the key and for each field.
func (c columns) row() string {
	return "(?" + strings.Repeat(",?", c.fields) + ")"
}

// join returns the text of one field, or the texts of all fields with commas between.
func (c columns) join(field int, text func(name string, i int) string) string {
	if field != AllFields {
		return text("field"+strconv.Itoa(field), 0)
	}
	all := make([]string, c.fields)
	for i := range all {
		all[i] = text("field"+strconv.Itoa(i), i)
	}
	return strings.Join(all, ", ")
}

// split returns the fields of a record, or value alone for one field.
func (c columns) split(field int, value []byte) [][]byte {
	if field != AllFields {
		return [][]byte{value}
	}
	fieldBytes := len(value) / c.fields
	all := make([][]byte, c.fields)
	for i := range all {
		all[i] = value[i*fieldBytes : (i+1)*fieldBytes]
	}
	return all
}
