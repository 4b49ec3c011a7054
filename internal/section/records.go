package section

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// Field is a value of a row as programs read it: text, a float64 that is not rounded, or nil where there is none.
type Field struct {
	Key   string
	Value any
}

// Record is the fields of a row, in the order of its columns.
type Record []Field

// Records returns the rows of a table that have cells, by the columns that have a key. All records of a table have the
// same keys.
func (t Table) Records() (records []Record) {
	for _, r := range t.Rows {
		var record Record
		for i, c := range r.Cells {
			column := t.Columns[i]
			if column.Key != "" {
				record = append(record, Field{column.Key, c.value(column)})
			}
			if column.KeyHigh != "" {
				high := Cell{}
				if c.Range {
					high = c.Of.Cell(c.To)
				}
				record = append(record, Field{column.KeyHigh, high.value(column)})
			}
		}
		if record != nil {
			records = append(records, record)
		}
	}
	return records
}

// value returns a number, or the text of a column of words; nil for nothing.
func (c Cell) value(column Column) any {
	switch {
	case c.Of != Words && !math.IsNaN(c.Value) && !math.IsInf(c.Value, 0):
		return c.Value
	case column.Text && c.Of == Words && c.Text != "" && c.Text != Blank:
		return c.Text
	}
	return nil
}

// MarshalJSON writes an object with the fields in their order.
func (r Record) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // the encoder of the whole document decides
	for i, f := range r {
		out.WriteByte("{,"[min(i, 1)])
		if err := e.Encode(f.Key); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := e.Encode(f.Value); err != nil {
			return nil, err
		}
	}
	if len(r) == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// AddKeys adds the keys of the record that are not among these.
func (r Record) AddKeys(keys []string) []string {
	for _, f := range r {
		if !slices.Contains(keys, f.Key) {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// Text returns the value of a key as a field of CSV; "" where there is none.
func (r Record) Text(key string) string {
	for _, f := range r {
		switch v := f.Value.(type) {
		case string:
			if f.Key == key {
				return v
			}
		case float64:
			if f.Key == key {
				return strconv.FormatFloat(v, 'f', -1, 64)
			}
		}
	}
	return ""
}
