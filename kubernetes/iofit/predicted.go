package iofit

import (
	"encoding/json"
	"fmt"

	"plimsoll/internal/model"
)

// PredictedAnnotation is of pods that a scheduler bound: a Prediction as JSON.
const PredictedAnnotation = Prefix + "predicted"

// Prediction is what a pod was predicted to do when it was placed, a second; NaN, or null, is what nobody knows.
type Prediction struct {
	Drive      string       `json:"drive,omitempty"` // on which it counts, or several; "" where the kind has but one
	Operations model.Number `json:"operations"`      // of its class
	Least      model.Number `json:"least"`           // of these: the lower end of their interval of 90%

	// What it asks of the drive.
	Reads      model.Number `json:"reads"`
	Writes     model.Number `json:"writes"`
	ReadBytes  model.Number `json:"read_bytes"`
	WriteBytes model.Number `json:"write_bytes"`
}

// Prediction returns what is predicted of the pod itself.
func (v Verdict) Prediction() Prediction {
	drive := v.Drive
	if len(drive) > longest {
		drive = "several"
	}
	return Prediction{drive, model.Number(v.Rate), model.Number(v.Least), model.Number(v.Device.Reads),
		model.Number(v.Device.Writes), model.Number(v.Device.ReadBytes), model.Number(v.Device.WriteBytes)}
}

// String returns the prediction as the annotation has it.
func (p Prediction) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // numbers and a name are written
	}
	return string(text)
}

// ParsePrediction reads what the annotation says. Users who may create pods may have written it.
func ParsePrediction(text string) (p Prediction, err error) {
	if len(text) > longestLimits {
		return p, fmt.Errorf("it has %d characters, and at most %d are read", len(text), longestLimits)
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, err
	}
	for _, n := range []model.Number{p.Operations, p.Least, p.Reads, p.Writes, p.ReadBytes, p.WriteBytes} {
		if n < 0 {
			return p, fmt.Errorf("%g is no rate", float64(n))
		}
	}
	if len(p.Drive) > longest {
		return p, fmt.Errorf("the drive has a name of %d characters, and at most %d are read", len(p.Drive), longest)
	}
	return p, nil
}
