package store

import (
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"plimsoll/internal/result"
)

// saveSeries stores the series of a trial.
func saveSeries(tx *sql.Tx, t result.Trial) error {
	for i, s := range t.Series {
		values := s.Values
		s.Values = nil
		record, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("series %s of trial %d: %w", s.Metric, t.Seq, err)
		}
		_, err = tx.Exec("INSERT INTO series (seq, number, record, samples) VALUES (?, ?, ?, ?)", t.Seq, i,
			string(record), encodeValues(values))
		if err != nil {
			return err
		}
	}
	return nil
}

// loadSeries reads the series of a trial.
func loadSeries(db *sql.DB, seq int) (all []result.Series, err error) {
	tx, err := db.Begin()
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	if err := checkSchema(tx); err != nil {
		return nil, err
	}
	left, err := newBudget(tx)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query("SELECT record, samples FROM series WHERE seq = ? ORDER BY number", seq)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var (
			record string
			blob   []byte
			s      result.Series
		)
		if err := rows.Scan(&record, &blob); err != nil {
			return nil, err
		}
		if err := left.spend(len(record) + len(blob)); err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(record), &s); err != nil {
			return nil, fmt.Errorf("series %d of trial %d: %w", len(all), seq, err)
		}
		if s.Values, err = decodeValues(blob); err != nil {
			return nil, fmt.Errorf("series %s of trial %d: %w", s.Metric, seq, err)
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

const valueBytes = 8

func encodeValues(values []float64) []byte {
	b := make([]byte, 0, valueBytes*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// decodeValues is the inverse of encodeValues.
func decodeValues(b []byte) ([]float64, error) {
	if len(b)%valueBytes != 0 {
		return nil, errors.New("its values are cut off or damaged")
	}
	values := make([]float64, len(b)/valueBytes)
	for i := range values {
		values[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[valueBytes*i:]))
	}
	return values, nil
}
