// Package report shows a run and what was found in it: as a page (HTML), on a
// terminal (Terminal), and as a document for programs (JSON). It reads
// results and findings and never runs a trial.
package report
