package fleet

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/internal/result"
	"plimsoll/internal/state/sudouser"
	"plimsoll/internal/workload/fio"
	"plimsoll/kubernetes/iofit"
)

// Placing compares schedulers by what the same pods do where each scheduler places them. The pods are those of Jobs,
// and run fio to its end. In each round, all schedulers have their turn; the order is reversed from round to round.
type Placing struct {
	ID         string
	Namespace  string
	Jobs       []batchv1.Job // as ReadJobs reads them
	Schedulers []string      // names of profiles; others are compared with the first
	Rounds     int
	Dir        string        // of the results: a file of each turn, and what each fio printed
	Longest    time.Duration // that a turn may take
	Tell       func(format string, args ...any)
	Client     kubernetes.Interface

	poll time.Duration // 0 for the usual
}

// Turn is what the pods did that a scheduler placed in a round.
type Turn struct {
	Scheduler string   `json:"scheduler"`
	Round     int      `json:"round"` // from 1
	Pods      []Placed `json:"pods"`
	Waiting   int      `json:"waiting,omitempty"` // pods that the scheduler found no node for
	Overlap   float64  `json:"overlap"`           // of the windows in which pods were measured; 0 where unknown
}

// Placed is a pod that ran.
type Placed struct {
	Name string  `json:"name"`
	Job  string  `json:"job"`
	Node string  `json:"node"`
	Rate float64 `json:"operations_per_second"`
	P99  float64 `json:"p99_seconds"`
	// LeastMissed and P99Missed report whether it did not do what its annotations ask for.
	HasLeast    bool `json:"has_least_throughput,omitempty"`
	HasP99      bool `json:"has_p99_limit,omitempty"`
	LeastMissed bool `json:"least_throughput_missed,omitempty"`
	P99Missed   bool `json:"p99_limit_missed,omitempty"`

	measured *result.Measurement
}

// Bounds of what a comparison starts.
const (
	mostJobs    = 100
	mostPods    = 5000
	mostJobName = 30       // bytes: round, scheduler and the pod's own suffix follow
	mostOutput  = 16 << 20 // bytes that a pod prints
	leastWindow = 0.8      // overlap of windows below which pods were not measured together
)

// Labels of pods that are placed: the Job in the file, and the turn.
const (
	jobLabel  = "plimsoll.dev/placed-job"
	turnLabel = "plimsoll.dev/placed-turn"
)

// ReadJobs reads Jobs from YAML of several documents. Each says by its parallelism how many pods it has. All that is
// wrong is said at once.
func ReadJobs(text []byte) ([]batchv1.Job, error) {
	var jobs []batchv1.Job
	var problems problem.List
	wrong := func(job, why string) {
		problems = append(problems, problem.Problem{Kind: problem.Invalid, What: "Job " + printable.Line(job), Why: why})
	}
	documents, pods := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))), 0
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		job := batchv1.Job{}
		if err := yaml.UnmarshalStrict(document, &job); err != nil {
			return nil, err
		}
		n, spec := 1, job.Spec.Template.Spec
		if job.Spec.Parallelism != nil {
			n = int(*job.Spec.Parallelism)
		}
		pods += n
		switch bad := validation.IsDNS1123Label(job.Name); {
		case job.Kind != "Job" || job.APIVersion != "batch/v1":
			wrong(job.Name, fmt.Sprintf("it is %s of %s: pods are given as Jobs of batch/v1", cmp.Or(job.Kind, "nothing"),
				cmp.Or(job.APIVersion, "nothing")))
		case len(bad) > 0:
			wrong(job.Name, strings.Join(bad, "; "))
		case len(job.Name) > mostJobName:
			wrong(job.Name, fmt.Sprintf("its name has more than %d characters", mostJobName))
		case slices.ContainsFunc(jobs, func(o batchv1.Job) bool { return o.Name == job.Name }):
			wrong(job.Name, "it is there twice")
		case n < 1:
			wrong(job.Name, "its parallelism says how many pods there are: from 1")
		case spec.NodeName != "" || spec.SchedulerName != "":
			wrong(job.Name, "it has a nodeName or a schedulerName: schedulers place its pods in turn")
		case len(spec.Containers) == 0:
			wrong(job.Name, "it has no container")
		}
		if _, err := iofit.DemandOf(&corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: spec}); err != nil {
			wrong(job.Name, err.Error())
		}
		jobs = append(jobs, job)
	}
	if len(jobs) == 0 || len(jobs) > mostJobs || pods > mostPods {
		problems = append(problems, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf(
			"there are %d Jobs and %d pods, and may be 1 to %d Jobs, and %d pods", len(jobs), pods, mostJobs, mostPods)})
	}
	return jobs, problems.Err()
}

// Run places the pods, round by round, and returns the turns that ended. What it made in the cluster is removed.
func (p *Placing) Run(ctx context.Context) (turns []Turn, err error) {
	for round := 1; round <= p.Rounds; round++ {
		order := slices.Clone(p.Schedulers)
		if round%2 == 0 {
			slices.Reverse(order)
		}
		for _, scheduler := range order {
			t, err := p.turn(ctx, round, scheduler)
			if err != nil {
				return turns, fmt.Errorf("round %d, %s: %w", round, scheduler, err)
			}
			turns = append(turns, t)
			p.Tell("%s", t.String())
		}
	}
	return turns, nil
}

// String returns a turn's rate and places as text.
func (t Turn) String() string {
	rate, on := 0.0, map[string]int{}
	for _, pod := range t.Pods {
		rate += pod.Rate
		on[pod.Node+" "+pod.Job]++
	}
	var places []string
	for _, k := range slices.Sorted(maps.Keys(on)) {
		node, job, _ := strings.Cut(k, " ")
		places = append(places, fmt.Sprintf("%s: %d %s", node, on[k], job))
	}
	text := fmt.Sprintf("Round %d, %s: %.0f operations a second; %s", t.Round, t.Scheduler, rate,
		strings.Join(places, ", "))
	if t.Waiting > 0 {
		text += fmt.Sprintf("; %d found no node", t.Waiting)
	}
	if t.Overlap > 0 && t.Overlap < leastWindow {
		text += fmt.Sprintf("; pods were measured together for %.0f%% of their time alone: give fio a longer ramp_time",
			100*t.Overlap)
	}
	return text
}

// turn has a scheduler place the pods, and reads what they did.
func (p *Placing) turn(ctx context.Context, round int, scheduler string) (t Turn, err error) {
	index := slices.Index(p.Schedulers, scheduler)
	name := fmt.Sprintf("%d-%d", round, index+1)
	selection := metav1.ListOptions{LabelSelector: RunLabel + "=" + p.ID + "," + turnLabel + "=" + name}
	defer func() {
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.Longest)
		defer cancel()
		err = errors.Join(err, p.remove(rest, selection))
	}()
	expected := 0
	// In one round, all schedulers are given the pods in the same order.
	order := rand.New(rand.NewPCG(uint64(round), 0)).Perm(len(p.Jobs)) //nolint:gosec // an order, and no secret
	for _, i := range order {
		job := p.job(&p.Jobs[i], name, scheduler)
		expected += int(*job.Spec.Parallelism)
		_, err := p.Client.BatchV1().Jobs(p.Namespace).Create(ctx, job, metav1.CreateOptions{FieldManager: "plimsoll"})
		if err != nil {
			return t, fmt.Errorf("create Job %s: %w", job.Name, err)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.Longest, fmt.Errorf("the pods did not end within %s", p.Longest))
	defer cancel()
	pods, waiting, err := p.wait(ctx, selection, expected)
	if err != nil {
		return t, err
	}
	t = Turn{Scheduler: scheduler, Round: round, Waiting: waiting}
	dir := filepath.Join(p.Dir, fmt.Sprintf("round-%d-%s", round, scheduler))
	if _, err := sudouser.MkdirAll(dir, 0o755); err != nil {
		return t, err
	}
	var windows []fio.Foreign
	for i := range pods {
		text, err := p.Client.CoreV1().Pods(p.Namespace).GetLogs(pods[i].Name, &corev1.PodLogOptions{
			Container: pods[i].Spec.Containers[0].Name, LimitBytes: new(int64(mostOutput)),
		}).DoRaw(ctx)
		if err != nil {
			return t, fmt.Errorf("what pod %s printed: %w", pods[i].Name, err)
		}
		file := filepath.Join(dir, pods[i].Name+".json")
		if err := sudouser.Replace(file, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			return t, err
		}
		placed, window, err := judgePlaced(&pods[i], text)
		if err != nil {
			return t, fmt.Errorf("pod %s: %w", pods[i].Name, err)
		}
		t.Pods, windows = append(t.Pods, placed), append(windows, window)
	}
	t.Overlap = overlap(windows)
	return t, sudouser.Replace(filepath.Join(dir, "turn.json"), func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(t)
	})
}

// job returns a Job of a turn.
func (p *Placing) job(template *batchv1.Job, turn, scheduler string) *batchv1.Job {
	job := template.DeepCopy()
	name := template.Name
	job.ObjectMeta = metav1.ObjectMeta{Name: name + "-" + strings.ToLower(p.ID[max(0, len(p.ID)-5):]) + "-" + turn,
		Namespace: p.Namespace, Labels: map[string]string{RunLabel: p.ID, turnLabel: turn, jobLabel: name}}
	n := int32(1)
	if template.Spec.Parallelism != nil {
		n = *template.Spec.Parallelism
	}
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = &n, &n, new(int32)
	// Nothing of it is there for ever, where this program is killed.
	job.Spec.ActiveDeadlineSeconds, job.Spec.TTLSecondsAfterFinished = new(int64(p.Longest/time.Second)), new(int32(3600))
	labels := maps.Clone(template.Spec.Template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, job.Labels)
	job.Spec.Template.Labels = labels
	job.Spec.Template.Spec.SchedulerName = scheduler
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return job
}

// wait waits until all pods ended that got a node. One that no node was found for while the others began waits, and is
// not counted if a node gets free when these end.
func (p *Placing) wait(ctx context.Context, selection metav1.ListOptions, expected int) (
	ended []corev1.Pod, waiting int, err error,
) {
	var left map[string]bool // nil until all others began
	for {
		pods, err := p.Client.CoreV1().Pods(p.Namespace).List(ctx, selection)
		if err != nil {
			return nil, 0, fmt.Errorf("read pods: %w", err)
		}
		ended = nil
		pending, starting := map[string]bool{}, expected-len(pods.Items)
		for i := range pods.Items {
			pod := &pods.Items[i]
			switch {
			case pod.Status.Phase == corev1.PodFailed:
				return nil, 0, fmt.Errorf("pod %s failed: %s", pod.Name, lastWords(pod))
			case left[pod.Name]:
			case pod.Status.Phase == corev1.PodSucceeded:
				ended = append(ended, *pod)
			case pod.Status.Phase == corev1.PodRunning:
			case unscheduled(pod) != "":
				pending[pod.Name] = true
			default:
				starting++
			}
		}
		if left == nil && starting == 0 {
			left = pending
		}
		if left != nil && len(ended) == expected-len(left) {
			return ended, len(left), nil
		}
		select {
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		case <-time.After(cmp.Or(p.poll, time.Second)):
		}
	}
}

// remove deletes the Jobs of a turn, and waits until their pods are gone.
func (p *Placing) remove(ctx context.Context, selection metav1.ListOptions) error {
	jobs, err := p.Client.BatchV1().Jobs(p.Namespace).List(ctx, selection)
	if err != nil {
		return fmt.Errorf("remove Jobs: %w", err)
	}
	for i := range jobs.Items {
		if err := deleteJob(ctx, p.Client, &jobs.Items[i]); err != nil {
			return fmt.Errorf("remove Job %s: %w", jobs.Items[i].Name, err)
		}
	}
	for {
		pods, err := p.Client.CoreV1().Pods(p.Namespace).List(ctx, selection)
		if err != nil || len(pods.Items) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d pods are still there: %w", len(pods.Items), ctx.Err())
		case <-time.After(cmp.Or(p.poll, time.Second)):
		}
	}
}

// judgePlaced reads what a pod printed, and holds it against its annotations.
func judgePlaced(pod *corev1.Pod, text []byte) (Placed, fio.Foreign, error) {
	placed := Placed{Name: pod.Name, Job: pod.Labels[jobLabel], Node: pod.Spec.NodeName}
	results, problems := fio.ReadForeign(text)
	if err := problems.Err(); err != nil {
		return placed, fio.Foreign{}, err
	}
	if len(results) != 1 {
		return placed, fio.Foreign{}, fmt.Errorf("it printed %d results of fio, and not 1: --group_reporting makes one "+
			"of jobs", len(results))
	}
	if results[0].Measurement == nil {
		return placed, results[0], results[0].Problem
	}
	placed.measured = results[0].Measurement
	placed.Rate = placed.measured.IOPS()
	ns, known := p99(placed.measured)
	if !known {
		return placed, results[0], errors.New("fio printed no histogram of its total latency: it takes " +
			"--output-format=json+ and --lat_percentiles=1, and a --ramp_time no longer than its --runtime")
	}
	placed.P99 = ns / 1e9
	demand, err := iofit.DemandOf(pod)
	if err == nil && demand != nil {
		placed.HasLeast, placed.LeastMissed = demand.LeastRate > 0, placed.Rate < demand.LeastRate
		placed.HasP99, placed.P99Missed = demand.MostP99 > 0, demand.MostP99 > 0 && placed.P99 > demand.MostP99
	}
	return placed, results[0], err
}

// overlap returns in which share of the longest window all pods were measured; 0 if a fio does not print its window.
func overlap(results []fio.Foreign) float64 {
	var from, to time.Time
	longest := time.Duration(0)
	for i, f := range results {
		if f.From.IsZero() || f.To.IsZero() {
			return 0
		}
		if i == 0 || f.From.After(from) {
			from = f.From
		}
		if i == 0 || f.To.Before(to) {
			to = f.To
		}
		longest = max(longest, f.To.Sub(f.From))
	}
	if longest <= 0 {
		return 0
	}
	return max(0, to.Sub(from).Seconds()/longest.Seconds())
}
