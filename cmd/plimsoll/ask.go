package main

import (
	"context"
	"errors"

	"plimsoll/internal/experiment"
	"plimsoll/internal/trial"
)

// askPrograms refuses what the programs of this host do not take of the user's
// own files, before anything is touched.
func askPrograms(ctx context.Context, e *experiment.Experiment) error {
	err := trial.Ask(ctx, e)
	var declined *trial.Declined
	if errors.As(err, &declined) {
		return &exitError{exitUsage, err}
	}
	return runError(err, "")
}
