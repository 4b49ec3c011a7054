package fleet

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"plimsoll/examples"
	"plimsoll/internal/experiment"
	"plimsoll/internal/printable"
	"plimsoll/internal/stack"
	"plimsoll/internal/state/inputfile"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/units/plural"
	"plimsoll/kubernetes/iofit"
)

// Record describes a run of a fleet beside its results: its experiment and its nodes.
type Record struct {
	ID         string    `json:"id"`
	Started    time.Time `json:"started"`
	Experiment string    `json:"experiment"`     // name of a built-in one, or of the file
	File       string    `json:"file,omitempty"` // its name, where it is one
	Text       string    `json:"text,omitempty"` // what it holds
	Args       []string  `json:"args,omitempty"` // of plimsoll run
	Image      string    `json:"image"`
	Namespace  string    `json:"namespace"`
	Cordon     bool      `json:"cordon,omitempty"`
	Disturb    bool      `json:"disturb,omitempty"`   // nodes are measured whatever runs there
	Parallel   int       `json:"parallel,omitempty"`  // nodes of each kind that are measured at once; 0 is 1
	Priority   string    `json:"priority,omitempty"`  // PriorityClass, where the cluster has it
	HostCPUs   float64   `json:"host_cpus,omitempty"` // of the scaled-down host, which a pod requests
	HostMemory int64     `json:"host_memory_bytes,omitempty"`
	Nodes      []Node    `json:"nodes"` // by name
}

// Node is a node of a run.
type Node struct {
	Name   string `json:"name"`
	Kind   string `json:"kind,omitempty"`
	State  State  `json:"state"`
	Code   int    `json:"code,omitempty"`   // exit status of plimsoll run there, once it ended
	Reason string `json:"reason,omitempty"` // why it waits, or has no results
}

// State is how far a node is.
type State string

// The states of a node, in their order. Done and Failed are the last.
const (
	Queued    State = "queued" // it has no Job yet, as others of its kind are measured
	Waiting   State = "waiting"
	Measuring State = "measuring"
	Measured  State = "measured" // and its results are still there
	Done      State = "done"     // its results are here
	Failed    State = "failed"
)

const recordName = "fleet.json"

// mostRecord is more than a record of any cluster has: nodes are at most 5,000, experiments a megabyte.
const mostRecord = 16 << 20

// MostExperiment is how large the file of an experiment may be: a ConfigMap holds a mebibyte.
const MostExperiment = 1<<20 - 4<<10

// NewID returns the id of a run that starts. Two that start in the same second differ: a run takes
// Jobs that bear its id for its own.
func NewID(experiment string, at time.Time) string {
	name := strings.TrimSuffix(filepath.Base(experiment), filepath.Ext(experiment))
	name = strings.Trim(noName.ReplaceAllString(strings.ToLower(name), "-"), "-")
	name = strings.Trim(name[:min(len(name), 40)], "-")
	return strings.TrimLeft(name+at.UTC().Format("-20060102-150405-")+strings.ToLower(rand.Text()[:5]), "-")
}

var noName = regexp.MustCompile(`[^a-z0-9]+`)

// Write writes the record into the directory of the run.
func (r *Record) Write(dir string) error {
	return sudouser.Replace(filepath.Join(dir, recordName), func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(r)
	})
}

// Read reads the record of a run in a directory, whoever wrote it.
func Read(dir string) (*Record, error) { return read(dir, inputfile.Read) }

// ReadOwn is Read of a record that this user wrote. To go on with a run is to start its image as root on nodes, and to
// overwrite the devices that it names.
func ReadOwn(dir string) (*Record, error) { return read(dir, inputfile.ReadOwn) }

func read(dir string, from func(name string, most int64) ([]byte, error)) (*Record, error) {
	file := filepath.Join(dir, recordName)
	text, err := from(file, mostRecord)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is no run of a fleet: it has no %s", dir, recordName)
	}
	if err != nil {
		return nil, err
	}
	r := &Record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, r.check(file)
}

// IsRun reports whether a directory has the results of a fleet's run.
func IsRun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, recordName))
	return err == nil
}

// Results returns the run directories of the nodes that are done, by the name of the node.
func (r *Record) Results(dir string) map[string]string {
	results := map[string]string{}
	for _, n := range r.Nodes {
		if n.State == Done {
			results[n.Name] = filepath.Join(dir, n.Name)
		}
	}
	return results
}

// check reports what cannot be of a record: someone else may have written the file.
func (r *Record) check(file string) error {
	var problems []error
	name := func(what, text string, wrong []string) {
		for _, w := range wrong {
			problems = append(problems, fmt.Errorf("%s: %s %q: %s", file, what, printable.Line(text), w))
		}
	}
	name("id", r.ID, validation.IsDNS1123Label(r.ID))
	name("namespace", r.Namespace, validation.IsDNS1123Label(r.Namespace))
	if r.File != "" {
		name("file", r.File, validation.IsConfigMapKey(r.File))
	} else if _, builtin := examples.Find(r.Experiment); !builtin {
		name("experiment", r.Experiment, []string{"there is no experiment and no file of that name"})
	}
	if err := CheckArgs(r.Args); err != nil {
		problems = append(problems, fmt.Errorf("%s: args: %w", file, err))
	}
	seen := map[string]bool{}
	for _, n := range r.Nodes {
		name("node", n.Name, validation.IsDNS1123Subdomain(n.Name))
		if seen[n.Name] {
			problems = append(problems, fmt.Errorf("%s: node %s is there twice", file, n.Name))
		}
		seen[n.Name] = true
	}
	return errors.Join(problems...)
}

// Settings returns the flags of plimsoll run that nodes are given: settings of experiments, and which
// devices may be overwritten.
func Settings() []string {
	names := []string{"destroy"}
	for _, s := range experiment.Flags() {
		names = append(names, s.Flag, s.Without)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// CheckArgs reports which arguments of plimsoll run, --NAME=VALUE, nodes are not given: those that are
// no settings, and those that could have a node lose data. The disk that has one path on one node has
// another on the next, so that only a serial names one.
func CheckArgs(args []string) error {
	var problems []error
	known := Settings()
	for _, a := range args {
		name, value, _ := strings.Cut(a, "=")
		name, is := strings.CutPrefix(name, "--")
		switch {
		case !is || !slices.Contains(known, name):
			problems = append(problems, fmt.Errorf("%q is no setting of an experiment", printable.Line(a)))
		case name == "destroy":
			p, err := stack.ParsePermission(value)
			if err == nil && !serial.MatchString(p.Device) {
				err = fmt.Errorf("--destroy %s: of a fleet, a device is named by its serial: a path is another device on "+
					"another node", value)
			}
			problems = append(problems, err)
		case name == "on" && !serial.MatchString(value) && !strings.HasPrefix(value, "dir:/"):
			problems = append(problems,
				fmt.Errorf("--on %s: of a fleet, it is the serial of a device, or dir:/DIRECTORY", value))
		}
	}
	return errors.Join(problems...)
}

// serial is what a serial looks like: no path, and no option.
var serial = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// Busy returns which nodes a measurement would disturb, and whom: control planes, and pods that have a class or keep
// data.
func Busy(nodes []corev1.Node, pods []corev1.Pod) map[string]string {
	busy := map[string]string{}
	for i := range nodes {
		for _, role := range []string{"control-plane", "master", "etcd"} {
			if _, is := nodes[i].Labels["node-role.kubernetes.io/"+role]; is {
				busy[nodes[i].Name] = "it belongs to the control plane"
			}
		}
	}
	for i := range pods {
		p := &pods[i]
		owner := metav1.GetControllerOf(p)
		keeps := owner != nil && owner.Kind == "StatefulSet" ||
			slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
		over := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !over && (keeps || p.Annotations[iofit.ClassAnnotation] != "") {
			busy[p.Spec.NodeName] = fmt.Sprintf("pod %s/%s there keeps data, or has a class", p.Namespace, p.Name)
		}
	}
	return busy
}

// Choose returns which nodes are measured: those that a selector selects, that are ready and not busy,
// so many of each kind; 0 is all. left says of the others why.
func Choose(nodes []corev1.Node, busy map[string]string, selector string, eachKind int) (
	chosen []Node, left []string, err error,
) {
	matcher, err := labels.Parse(selector)
	if err != nil {
		return nil, nil, fmt.Errorf("--nodes %s: %w", selector, err)
	}
	slices.SortFunc(nodes, func(a, b corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	measured, skipped := map[string]int{}, map[string]int{}
	for i := range nodes {
		node := &nodes[i]
		if !matcher.Matches(labels.Set(node.Labels)) {
			continue
		}
		if !ready(node) {
			left = append(left, fmt.Sprintf("node %s is not ready", node.Name))
			continue
		}
		if why := busy[node.Name]; why != "" {
			left = append(left, fmt.Sprintf("node %s: %s (--disturb measures it nevertheless)", node.Name, why))
			continue
		}
		kind := iofit.KindOf(node)
		if measured[kind]++; eachKind > 0 && measured[kind] > eachKind {
			skipped[kind]++
			continue
		}
		chosen = append(chosen, Node{Name: node.Name, Kind: kind, State: Queued})
	}
	for _, kind := range slices.Sorted(maps.Keys(skipped)) {
		left = append(left, fmt.Sprintf("%s of kind %s: %d of the kind are measured",
			plural.Count(skipped[kind], "more node"), named(kind), eachKind))
	}
	if len(chosen) == 0 {
		return nil, left, fmt.Errorf("--nodes %s selects no node that is ready and may be disturbed", selector)
	}
	return chosen, left, nil
}

// named returns a kind for people.
func named(kind string) string {
	if kind == "" {
		return "unknown"
	}
	return kind
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
