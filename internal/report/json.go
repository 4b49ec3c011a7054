package report

import (
	"encoding/csv"
	"encoding/json"
	"io"

	"plimsoll/internal/fact"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/workloads"
	"plimsoll/internal/printable"
	"plimsoll/internal/result"
	"plimsoll/internal/result/export"
	answer "plimsoll/internal/section"
)

// JSON writes a run and what was found in it as one document. The run is as
// in run.json: percentiles in the place of histograms. Tables has the rows of the tables of workloads.
func JSON(w io.Writer, run *result.Run, findings []fact.Finding) error {
	return export.Indented(w, struct {
		Run      export.Document `json:"run"`
		Tables   []answer.Record `json:"tables"`
		Findings []fact.Finding  `json:"findings"`
	}{export.NewDocument(run), tableRecords(run, findings), append([]fact.Finding{}, findings...)})
}

// TablesCSV writes the rows of the tables of workloads: a heading, and a line for each stack and workload.
func TablesCSV(w io.Writer, run *result.Run) error {
	records := tableRecords(run, finding.All(run))
	var heads []string
	for _, r := range records {
		heads = r.AddKeys(heads)
	}
	out := csv.NewWriter(w)
	if err := out.Write(heads); err != nil {
		return err
	}
	for _, r := range records {
		var line []string
		for _, key := range heads {
			line = append(line, r.Text(key))
		}
		if err := out.Write(printable.Cells(line...)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// TablesNDJSON writes the same as one JSON object per line.
func TablesNDJSON(w io.Writer, run *result.Run) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, r := range tableRecords(run, finding.All(run)) {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// tableRecords returns the rows of the tables of all workloads and mixes of a run, each with the name of its workload.
func tableRecords(run *result.Run, findings []fact.Finding) []answer.Record {
	run, points := placed(run), finding.Points(run)
	records := []answer.Record{}
	mixes := ran(run)
	for i, s := range workloads.Sections(run, mixes, points, findings) {
		for _, table := range s.Tables {
			for _, r := range table.Records() {
				records = append(records, append(answer.Record{{Key: "workload", Value: mixes[i].Name}}, r...))
			}
		}
	}
	return records
}
