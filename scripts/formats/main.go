// Command formats describes the keys of documents that plimsoll writes for programs, from their types: the pages of
// docs/reference/formats have them, and a test fails where a page is not what the types are.
//
//	go run ./scripts/formats PAGE...              prints the keys of a page, such as run
//	go test ./scripts/formats -update             writes all pages
package main

import (
	"fmt"
	"os"
)

func main() {
	pages, err := describe(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "formats:", err)
		os.Exit(1)
	}
	for _, page := range os.Args[1:] {
		fmt.Print(pages[page])
	}
}

// format is a document, or a table, that plimsoll writes.
type format struct {
	page  string // of docs/reference/formats
	title string
	dir   string // of the type's package
	typ   string
	list  string // the key that a list of the type has in its document; "" for a document of the type
	csv   string // in the place of typ: the function whose calls of add name the columns, or the variable with them
}

var formats = []format{
	{page: "run", title: "run.json", dir: "internal/result/export", typ: "Document"},
	{page: "results", title: "export --format ndjson", dir: "internal/result/export", typ: "Row"},
	{page: "results", title: "export --format csv", dir: "internal/result/export", csv: "add"},
	{page: "results", title: "export --series", dir: "internal/result/export", typ: "Sample"},
	{page: "findings", title: "findings of show, run and import", dir: "internal/fact", typ: "Finding", list: "findings"},
	{page: "facts", title: "`recommendation`", dir: "internal/finding/verdict", typ: "Facts"},
	{page: "facts", title: "`answer` of `imported points`", dir: "internal/finding/verdict", typ: "ImportedPoints"},
	{page: "facts", title: "`caveats`", dir: "internal/finding/caveat", typ: "Facts"},
	{page: "facts", title: "`steadiness`", dir: "internal/finding/caveat", typ: "Steady"},
	{page: "facts", title: "`scaling`", dir: "internal/finding/loadline", typ: "Facts"},
	{page: "facts", title: "`elasticity`", dir: "internal/finding/elasticity", typ: "Facts"},
	{page: "facts", title: "`unbound`", dir: "internal/finding/unbound", typ: "Facts"},
	{page: "facts", title: "`policies`", dir: "internal/finding/policies", typ: "Facts"},
	{page: "facts", title: "`tenants`", dir: "internal/finding/tenants", typ: "Facts"},
	{page: "facts", title: "`overload`", dir: "internal/finding/overload", typ: "Facts"},
	{page: "facts", title: "`levels`", dir: "internal/finding/levels", typ: "Facts"},
	{page: "facts", title: "`fastest`", dir: "internal/finding/ranking", typ: "Facts"},
	{page: "facts", title: "`illusion`", dir: "internal/finding/illusion", typ: "Facts"},
	{page: "facts", title: "`baseline` and `siblings`", dir: "internal/finding/comparison", typ: "Facts"},
	{page: "facts", title: "`operations`", dir: "internal/finding/operations", typ: "Facts"},
	{page: "facts", title: "`fabric`", dir: "internal/finding/cost", typ: "Fabric"},
	{page: "facts", title: "`targets`", dir: "internal/finding/cost", typ: "Target"},
	{page: "facts", title: "`drive`", dir: "internal/finding/cost", typ: "Drive"},
	{page: "facts", title: "`software`", dir: "internal/finding/cost", typ: "Software"},
	{page: "facts", title: "`growth`", dir: "internal/finding/cost", typ: "Growth"},
	{page: "facts", title: "`contention`", dir: "internal/finding/cost", typ: "Contention"},
	{page: "facts", title: "`amplification`", dir: "internal/finding/cost", typ: "Amplified"},
	{page: "facts", title: "`journal`", dir: "internal/finding/cost", typ: "Journalled"},
	{page: "facts", title: "`submission`", dir: "internal/finding/cost", typ: "Submitted"},
	{page: "facts", title: "`published`", dir: "internal/finding/published", typ: "Tested"},
	{page: "facts", title: "`published/others`", dir: "internal/finding/published", typ: "Others"},
	{page: "facts", title: "`noise`", dir: "internal/finding/noise", typ: "Facts"},
	{page: "facts", title: "`missing`", dir: "internal/finding/missing", typ: "Facts"},
	{page: "facts", title: "`spending`", dir: "internal/finding/spending", typ: "Facts"},
	{page: "compare", title: "compare", dir: "internal/finding/compare", typ: "Comparison"},
	{page: "plan", title: "plan", dir: "internal/placement", typ: "Document"},
	{page: "model", title: "fit", dir: "internal/model", typ: "Model"},
	{page: "model", title: "predict", dir: "internal/model", typ: "Answer"},
	{page: "model", title: "predict --over", dir: "internal/model", typ: "Curve"},
	{page: "model", title: "predict --against", dir: "internal/model", typ: "Against"},
	{page: "model", title: "predict --next", dir: "internal/model", typ: "Next"},
	{page: "trace", title: "trace analyze and trace record", dir: "internal/iotrace/show", typ: "document"},
	{page: "trace", title: "trace --format csv", dir: "internal/iotrace/show", csv: "columns"},
	{page: "trace", title: "trace --per-io", dir: "internal/iotrace/show", csv: "requestHead"},
	{page: "doctor", title: "doctor", dir: "internal/host/hostinfo", typ: "Report"},
	{page: "watch", title: "watch", dir: "internal/watch", typ: "Document"},
	{page: "headroom", title: "headroom", dir: "internal/headroom", typ: "Answer"},
	{page: "decisions", title: "first line of a log", dir: "internal/apply", typ: "logHead"},
	{page: "decisions", title: "other lines of a log", dir: "internal/apply", typ: "logLine"},
	{page: "decisions", title: "apply replay", dir: "internal/apply", typ: "Replayed"},
	{page: "json", title: "list", dir: "cmd/plimsoll", typ: "listedExperiment", list: "experiments"},
	{page: "json", title: "papers list", dir: "internal/finding/published", typ: "ListedFigure", list: "figures"},
	{page: "json", title: "runs", dir: "internal/report", typ: "listedRun", list: "runs"},
	{page: "json", title: "run --dry-run", dir: "cmd/plimsoll", typ: "dryRunPlan"},
	{page: "json", title: "validate", dir: "cmd/plimsoll", typ: "validation", list: "files"},
	{page: "json", title: "papers claims", dir: "internal/finding/published", typ: "Listed", list: "claims"},
	{page: "json", title: "advise settings", dir: "internal/finding/guidelines", typ: "Given"},
	{page: "json", title: "apply", dir: "internal/apply", typ: "Step", list: "steps"},
	{page: "json", title: "clean", dir: "internal/state/journal", typ: "Report", list: "runs"},
	{page: "json", title: "data list", dir: "internal/state/datasets", typ: "Copy", list: "data"},
	{page: "json", title: "image list", dir: "internal/image", typ: "Image", list: "images"},
	{page: "json", title: "target list and target export", dir: "internal/stack/nvmetarget", typ: "Exported",
		list: "targets"},
	{page: "json", title: "fleet.json of plimsoll-kubernetes fleet run", dir: "kubernetes/fleet", typ: "Record"},
	{page: "json", title: "turn.json of plimsoll-kubernetes fleet place", dir: "kubernetes/fleet", typ: "Turn"},
	{page: "json", title: "version", dir: "internal/cli/buildinfo", typ: "Build"},
}
