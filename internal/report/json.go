package report

import (
	"io"

	"plimsoll/internal/finding/fact"
	"plimsoll/internal/result"
	"plimsoll/internal/result/export"
)

// JSON writes a run and what was found in it as one document. The run is as
// in run.json: percentiles in the place of histograms.
func JSON(w io.Writer, run *result.Run, findings []fact.Finding) error {
	return export.Indented(w, struct {
		Run      export.Document `json:"run"`
		Findings []fact.Finding  `json:"findings"`
	}{export.NewDocument(run), append([]fact.Finding{}, findings...)})
}
