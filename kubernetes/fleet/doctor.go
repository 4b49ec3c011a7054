package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"plimsoll/internal/printable"
	"plimsoll/internal/problem"
	"plimsoll/kubernetes/node"
)

// mostCheckup bounds what is read of a node's answer.
const mostCheckup = 256 << 10

// Checkup is the answer of a node, and of its pod where the node has none.
type Checkup struct {
	Node

	Answer node.Checkup
	Err    error // why there is no answer
}

// Doctor has each node of a run look whether it can run the experiment, all at once, and returns what each answered in
// time, in the order of the nodes. It changes nothing on nodes, and leaves nothing in the cluster.
func Doctor(ctx context.Context, client kubernetes.Interface, r *Record, longest time.Duration) ([]Checkup, error) {
	c := Collector{Record: r, client: client}
	if err := c.share(ctx); err != nil {
		return nil, fleetMissing(err)
	}
	undone := context.WithoutCancel(ctx)
	jobs := client.BatchV1().Jobs(r.Namespace)
	names := map[string]*batchv1.Job{}
	remove := func() (err error) {
		for _, j := range names {
			err = errors.Join(err, deleteJob(undone, client, j))
		}
		return errors.Join(err, c.finish(undone))
	}
	for _, n := range r.Nodes {
		j, err := jobs.Create(ctx, r.doctorJob(n.Name), metav1.CreateOptions{FieldManager: "plimsoll"})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("node %s: %w", n.Name, fleetMissing(err)), remove())
		}
		names[n.Name] = j
	}
	wait, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	checkups := make([]Checkup, len(r.Nodes))
	for i, n := range r.Nodes {
		checkups[i].Node = n
	}
	answered := func(c *Checkup) bool { return c.State == Done }
	for {
		seen, err := c.look(wait, DoctorLabel+"="+r.ID)
		for i := range checkups {
			if err == nil && !answered(&checkups[i]) {
				checkups[i].read(wait, client, seen[checkups[i].Name])
			}
		}
		if !slices.ContainsFunc(checkups, func(c Checkup) bool { return !answered(&c) }) {
			return checkups, remove()
		}
		select {
		case <-wait.Done():
			if ctx.Err() != nil {
				return nil, errors.Join(ctx.Err(), remove())
			}
			for i := range checkups {
				if c := &checkups[i]; !answered(c) {
					c.Err = fmt.Errorf("no answer within %s: %w", longest, c.Err)
				}
			}
			return checkups, remove()
		case <-time.After(time.Second):
		}
	}
}

// fleetMissing adds to the error of an API server that has no namespace of fleets how to make it.
func fleetMissing(err error) error {
	if unlessGone(err) == nil && err != nil {
		return fmt.Errorf("%w: kubectl apply -k kubernetes/manifests/fleet makes the namespace", err)
	}
	return err
}

// read reads a node's answer, once its pod has ended; until then, Err says for what it waits.
func (c *Checkup) read(ctx context.Context, client kubernetes.Interface, s seen) {
	switch {
	case s.job == nil:
		c.State, c.Err = Done, errors.New("its Job was deleted by someone else")
		return
	case s.pod == nil:
		c.Err = errors.New("there is no pod yet")
		return
	}
	o := container(s.pod.Status.ContainerStatuses, doctors)
	switch {
	case o == nil:
		c.Err = errors.New("its pod waits: " + unscheduled(s.pod))
		return
	case o.State.Terminated == nil:
		c.Err = errors.New("it is still at it")
		if w := o.State.Waiting; w != nil {
			c.Err = errors.New("its pod waits: " + printable.Line(strings.TrimSpace(w.Reason+" "+w.Message)))
		}
		return
	case o.State.Terminated.ExitCode != 0:
		c.State, c.Err = Done, errors.New(lastWords(s.pod))
		return
	}
	text, err := client.CoreV1().Pods(s.pod.Namespace).GetLogs(s.pod.Name,
		&corev1.PodLogOptions{Container: doctors, LimitBytes: new(int64(mostCheckup))}).DoRaw(ctx)
	if err == nil {
		err = json.Unmarshal(text, &c.Answer)
	}
	if c.Err = nil; err != nil {
		c.Err = fmt.Errorf("its answer cannot be read: %w", err)
		return
	}
	c.State = Done
}

// Missing returns why the node cannot run the experiment; nil where it can.
func (c *Checkup) Missing() error {
	switch {
	case c.Err != nil:
		return problem.New(problem.Failed, "whether it can run is not known", c.Err.Error(), "")
	case c.Answer.Code == 0:
		return nil
	}
	lines := strings.Split(c.Answer.Said, "\n")
	for i := range lines {
		lines[i] = printable.Line(strings.TrimRight(lines[i], " "))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Takes returns the last line of what the node said of a run: how long it takes there.
func (c *Checkup) Takes() string { return lastLine(c.Answer.Said) }
