package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/retry"

	"plimsoll/internal/lab/tarball"
	"plimsoll/internal/printable"
	"plimsoll/internal/result/store"
	"plimsoll/internal/state/sudouser"
	"plimsoll/kubernetes/node"
)

// Collector runs the Jobs of a run, and takes their results.
type Collector struct {
	*Record

	Dir  string // of the results: a run directory by node
	Tell func(format string, args ...any)

	client kubernetes.Interface
	// exec runs a command in the container of a node's pod that keeps its results.
	exec func(ctx context.Context, pod string, out io.Writer, command ...string) error
	poll time.Duration
	last map[string]string // what was told of each node

	// since is when a node's pod began to wait, or its node to be away, by the name of the node.
	since map[string]time.Time
	now   func() time.Time
}

// longestAway is how long a node's pod may wait, or its node be not ready, until another node of its kind is measured.
const longestAway = 10 * time.Minute

// NewCollector returns the collector of a run whose results go to a directory.
func NewCollector(
	r *Record, dir string, config *rest.Config, tell func(format string, args ...any),
) (*Collector, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &Collector{
		Record: r, Dir: dir, Tell: tell, client: client, poll: 2 * time.Second, last: map[string]string{},
		since: map[string]time.Time{}, now: time.Now,
	}
	c.exec = func(ctx context.Context, pod string, out io.Writer, command ...string) error {
		request := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(r.Namespace).Name(pod).SubResource("exec").
			VersionedParams(&corev1.PodExecOptions{Container: keeps, Command: command, Stdout: true, Stderr: true},
				scheme.ParameterCodec)
		to, err := remotecommand.NewSPDYExecutor(config, "POST", request.URL())
		if err != nil {
			return err
		}
		message := &printable.Tail{Most: mostSaid}
		if err = to.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: out, Stderr: message}); err != nil {
			err = fmt.Errorf("%w: %s", err, printable.Line(strings.TrimSpace(message.String())))
		}
		return err
	}
	return c, nil
}

// mostCollected is how many nodes' results are taken at once: the API server carries them all.
const mostCollected = 4

// mostSaid is how much of what a pod says of a failure is kept.
const mostSaid = 4 << 10

// mostResults is far more than a run of plimsoll has.
const mostResults = 64 << 30

// Run measures the nodes that are neither done nor failed, until all are, or the context is
// done: then nodes go on, and another Run takes their results.
func (c *Collector) Run(ctx context.Context) error {
	for i := range c.Nodes {
		if !c.Nodes[i].ended() {
			c.Nodes[i].State = Queued // its Job is found, or made anew
		}
	}
	if err := c.share(ctx); err != nil {
		return err
	}
	defer c.release(context.WithoutCancel(ctx))
	if err := c.start(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		seen, err := c.look(ctx, RunLabel+"="+c.ID)
		if err != nil {
			c.Tell("The API server cannot be asked, and is asked again: %v", err)
		} else if err := c.take(ctx, seen); err != nil {
			return err
		}
		if !slices.ContainsFunc(c.Nodes, func(n Node) bool { return !n.ended() }) {
			return c.finish(ctx)
		}
		if err := c.start(ctx); err != nil {
			c.Tell("The next node is not measured yet: %v", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(c.poll):
		}
	}
	return ctx.Err()
}

// release takes back the cordons of nodes that have no Job of the run.
func (c *Collector) release(ctx context.Context) {
	for i := range c.Nodes {
		if n := &c.Nodes[i]; c.Cordon && n.State == Queued {
			if err := uncordon(ctx, c.client, n.Name, c.ID); err != nil {
				c.Tell("%s may still be cordoned (kubectl uncordon %s): %v", n.Name, n.Name, err)
			}
		}
	}
}

// finish removes what the nodes no longer need.
func (c *Collector) finish(ctx context.Context) error {
	if c.File == "" {
		return nil
	}
	return unlessGone(c.client.CoreV1().ConfigMaps(c.Namespace).Delete(ctx, c.ID, metav1.DeleteOptions{}))
}

// unlessGone returns an error, but for that something is not there.
func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (n *Node) ended() bool { return n.State == Done || n.State == Failed }

// share gives the cluster the file of the experiment, unless it has it.
func (c *Collector) share(ctx context.Context) error {
	if c.File != "" {
		_, err := c.client.CoreV1().ConfigMaps(c.Namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: c.ID, Labels: map[string]string{RunLabel: c.ID}},
			Data:       map[string]string{c.File: c.Text},
		}, metav1.CreateOptions{FieldManager: "plimsoll"})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("give the nodes the experiment: %w", err)
		}
	}
	return nil
}

// start starts nodes that are queued, so that no more of a kind are measured at once than the run has it.
func (c *Collector) start(ctx context.Context) error {
	busy := map[string]int{}
	for _, n := range c.Nodes {
		if n.State != Queued && !n.ended() {
			busy[n.Kind]++
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.State != Queued || busy[n.Kind] >= max(c.Parallel, 1) {
			continue
		}
		err := c.startNode(ctx, n)
		if apierrors.IsNotFound(err) {
			err = fmt.Errorf("%w: kubectl apply -k kubernetes/manifests/fleet makes the namespace", err)
		}
		if err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
		if n.State == Queued {
			n.State = Waiting
			busy[n.Kind]++
		}
		if err := c.Write(c.Dir); err != nil {
			return err
		}
	}
	return nil
}

// startNode has a node measured, unless it has got busy since it was chosen. No other pod comes there once its Job is.
func (c *Collector) startNode(ctx context.Context, n *Node) error {
	if why, err := c.unfit(ctx, n.Name); err != nil || why != "" {
		if err == nil {
			n.fail(why)
		}
		return err
	}
	if c.Cordon {
		if err := cordon(ctx, c.client, n.Name, c.ID); err != nil {
			return err
		}
	}
	jobs := c.client.BatchV1().Jobs(c.Namespace)
	_, err := jobs.Create(ctx, c.measureJob(n.Name), metav1.CreateOptions{FieldManager: "plimsoll"})
	if apierrors.IsAlreadyExists(err) {
		job, err := jobs.Get(ctx, jobName(n.Name), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if of := job.Labels[RunLabel]; of != c.ID {
			n.fail(fmt.Sprintf("it is measured by run %s already, by Job %s/%s: wait until that has ended, or end it with "+
				"fleet clean --run %s", of, c.Namespace, job.Name, of))
			return uncordon(ctx, c.client, n.Name, c.ID)
		}
		return nil // this run's own, from before
	}
	return err
}

// unfit returns why a node is not measured now; "" where it is.
func (c *Collector) unfit(ctx context.Context, name string) (string, error) {
	job, err := c.client.BatchV1().Jobs(c.Namespace).Get(ctx, jobName(name), metav1.GetOptions{})
	switch {
	case err == nil && job.Labels[RunLabel] == c.ID:
		return "", nil // it is measured already
	case err != nil && !apierrors.IsNotFound(err):
		return "", err
	}
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "the node is gone", nil
	case err != nil:
		return "", err
	case !ready(node):
		return "the node is not ready", nil
	case c.Disturb:
		return "", nil
	}
	pods, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
	if err != nil {
		return "", err
	}
	if why := Busy([]corev1.Node{*node}, pods.Items)[name]; why != "" {
		return why + " (--disturb measures it nevertheless)", nil
	}
	return "", nil
}

// watch keeps a node cordoned while it is measured, and gives up one whose pod has waited, or that has been away, for
// too long: others of its kind are measured then.
func (c *Collector) watch(ctx context.Context, n *Node, s seen) error {
	if n.State != Waiting && n.State != Measuring {
		return nil
	}
	node, err := c.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	gone := apierrors.IsNotFound(err)
	if err != nil && !gone {
		return err
	}
	why := ""
	switch {
	case gone:
		why = "the node is gone"
	case !ready(node):
		why = "the node is not ready"
	case n.State == Waiting:
		why = "its pod waits: " + n.Reason
	}
	if why == "" {
		delete(c.since, n.Name)
	} else if c.since[n.Name].IsZero() {
		c.since[n.Name] = c.now()
	}
	if !gone && (why == "" || c.now().Sub(c.since[n.Name]) < longestAway) {
		if c.Cordon {
			return cordon(ctx, c.client, n.Name, c.ID)
		}
		return nil
	}
	if !gone {
		why = fmt.Sprintf("for %s, %s", longestAway, why)
	}
	if gone || n.State == Waiting { // nothing of it runs
		if err := deleteJob(ctx, c.client, s.job); err != nil {
			return err
		}
	}
	n.fail(why)
	return nil
}

// leave takes back a failed node's cordon where nothing of the run was there, and says where it stays.
func (c *Collector) leave(ctx context.Context, n *Node, s seen) error {
	if !c.Cordon {
		return nil
	}
	ran := false
	if s.pod != nil {
		o := container(s.pod.Status.InitContainerStatuses, measures)
		ran = o != nil && o.State.Waiting == nil
	}
	if !ran {
		return uncordon(ctx, c.client, n.Name, c.ID)
	}
	node, err := c.client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err == nil && node.Annotations[CordonedBy] == c.ID {
		n.Reason += fmt.Sprintf("; the node stays cordoned until plimsoll-kubernetes fleet clean --run %s has undone what "+
			"was left there", c.ID)
	}
	return unlessGone(err)
}

// cordon keeps new pods from a node until its results were taken, unless someone else cordoned it already.
func cordon(ctx context.Context, client kubernetes.Interface, name, run string) error {
	return change(ctx, client, name, func(n *corev1.Node) (any, bool) { return run, !n.Spec.Unschedulable })
}

// uncordon lets new pods onto a node again, if the run cordoned it.
func uncordon(ctx context.Context, client kubernetes.Interface, name, run string) error {
	return change(ctx, client, name, func(n *corev1.Node) (any, bool) { return nil, n.Annotations[CordonedBy] == run })
}

// change cordons a node by a run, or uncordons it by nil, where it is to be, if it is still there.
func change(
	ctx context.Context, client kubernetes.Interface, name string, to func(*corev1.Node) (by any, do bool),
) error {
	return unlessGone(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		n, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		owner, do := to(n)
		if !do {
			return nil
		}
		text, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"resourceVersion": n.ResourceVersion, "annotations": map[string]any{CordonedBy: owner}},
			"spec":     map[string]any{"unschedulable": owner != nil},
		})
		if err != nil {
			return err
		}
		_, err = client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, text,
			metav1.PatchOptions{FieldManager: "plimsoll"})
		return err
	}))
}

// seen is what the API server has of a node: its Job, and the newest pod of that.
type seen struct {
	job *batchv1.Job
	pod *corev1.Pod
}

// look returns what is there by a selector, by node.
func (c *Collector) look(ctx context.Context, selector string) (map[string]seen, error) {
	options := metav1.ListOptions{LabelSelector: selector}
	jobs, err := c.client.BatchV1().Jobs(c.Namespace).List(ctx, options)
	if err != nil {
		return nil, err
	}
	pods, err := c.client.CoreV1().Pods(c.Namespace).List(ctx, options)
	if err != nil {
		return nil, err
	}
	byNode := map[string]seen{}
	for i := range jobs.Items {
		byNode[jobs.Items[i].Annotations[NodeAnnotation]] = seen{job: &jobs.Items[i]}
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		s := byNode[p.Annotations[NodeAnnotation]]
		newer := s.pod == nil || s.pod.CreationTimestamp.Before(&p.CreationTimestamp)
		if s.job != nil && newer && metav1.IsControlledBy(p, s.job) {
			s.pod = p
			byNode[p.Annotations[NodeAnnotation]] = s
		}
	}
	return byNode, nil
}

// take goes on with each node from what is seen of it.
func (c *Collector) take(ctx context.Context, byNode map[string]seen) error {
	var group sync.WaitGroup
	room := make(chan struct{}, mostCollected)
	before := slices.Clone(c.Nodes)
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.ended() || n.State == Queued {
			continue
		}
		s := byNode[n.Name]
		n.judge(s)
		if err := c.watch(ctx, n, s); err != nil {
			n.Reason = "the node cannot be asked: " + err.Error()
		}
		if n.State == Failed {
			if err := c.leave(ctx, n, s); err != nil {
				n.Reason += "; whether the node is cordoned is not known: " + err.Error()
			}
		}
		if n.State != Measured {
			continue
		}
		group.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			if err := c.collect(ctx, n, s); err != nil && ctx.Err() == nil {
				n.Reason = "its results are not taken yet: " + err.Error()
			}
		})
	}
	group.Wait()
	for i := range c.Nodes {
		c.tell(ctx, &c.Nodes[i], byNode[c.Nodes[i].Name])
	}
	if slices.Equal(before, c.Nodes) {
		return nil
	}
	return c.Write(c.Dir)
}

// judge sets a node's state from its Job and pod.
func (n *Node) judge(s seen) {
	n.Reason = ""
	switch {
	case s.job == nil:
		n.fail("its Job was deleted, by fleet clean or by someone else")
		return
	case s.has(batchv1.JobFailed):
		n.fail("its pods failed again and again; the last: " + lastWords(s.pod))
		return
	case s.pod == nil:
		n.State, n.Reason = Waiting, "there is no pod yet"
		return
	}
	n.State, n.Reason = Waiting, unscheduled(s.pod)
	if o := container(s.pod.Status.InitContainerStatuses, measures); o != nil {
		switch {
		case o.State.Waiting != nil:
			n.Reason = strings.TrimSpace(o.State.Waiting.Reason + " " + o.State.Waiting.Message)
		case o.State.Running != nil:
			n.State, n.Reason = Measuring, ""
		case o.State.Terminated != nil && o.State.Terminated.ExitCode == 0:
			n.State, n.Reason = Measuring, ""
			if s.keeps() || s.has(batchv1.JobComplete) {
				n.State = Measured
			}
		}
	}
}

// has reports whether a Job ended in a way.
func (s seen) has(way batchv1.JobConditionType) bool {
	return slices.ContainsFunc(s.job.Status.Conditions, func(o batchv1.JobCondition) bool {
		return o.Type == way && o.Status == corev1.ConditionTrue
	})
}

// keeps reports whether the pod still keeps results.
func (s seen) keeps() bool {
	k := container(s.pod.Status.ContainerStatuses, keeps)
	return k != nil && k.State.Running != nil
}

// container returns what is known of one of a pod's containers; nil for nothing. Others may be there, which a cluster
// gives to pods.
func container(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	i := slices.IndexFunc(statuses, func(o corev1.ContainerStatus) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &statuses[i]
}

// unscheduled returns why a pod has no node yet.
func unscheduled(p *corev1.Pod) string {
	for _, o := range p.Status.Conditions {
		if o.Type == corev1.PodScheduled && o.Status == corev1.ConditionFalse {
			return printable.Line(o.Message)
		}
	}
	return ""
}

// lastWords returns how a pod ended.
func lastWords(p *corev1.Pod) string {
	if p == nil {
		return "it is gone"
	}
	for _, o := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := o.State.Terminated; t != nil && t.ExitCode != 0 {
			return printable.Line(strings.TrimSpace(fmt.Sprintf("%s, status %d %s", t.Reason, t.ExitCode, t.Message)))
		}
	}
	return strings.TrimSpace(p.Status.Reason + " " + p.Status.Message)
}

func (n *Node) fail(why string) { n.State, n.Reason = Failed, why }

// collect takes a node's results, and lets it go.
func (c *Collector) collect(ctx context.Context, n *Node, s seen) error {
	ended := node.Ended{}
	o := container(s.pod.Status.InitContainerStatuses, measures)
	if o == nil || o.State.Terminated == nil {
		return errors.New("its pod does not say how its run ended")
	}
	if err := json.Unmarshal([]byte(o.State.Terminated.Message), &ended); err != nil {
		return fmt.Errorf("how its run ended cannot be read: %w", err)
	}
	n.Code = ended.Code
	if ended.Results && !store.IsRun(filepath.Join(c.Dir, n.Name)) {
		if !s.keeps() {
			n.fail("its results were taken, and are not here: by whom?")
			return nil
		}
		if err := c.fetch(ctx, n.Name, s.pod.Name); err != nil {
			return err
		}
	}
	if s.keeps() { // not where we were killed after this
		err := c.exec(ctx, s.pod.Name, io.Discard, "plimsoll-kubernetes", "node", "forget", "--run", c.ID)
		if err != nil {
			return fmt.Errorf("show it that they were taken: %w", err)
		}
	}
	if c.Cordon {
		if err := uncordon(ctx, c.client, n.Name, c.ID); err != nil {
			return err
		}
	}
	if err := deleteJob(ctx, c.client, s.job); err != nil {
		return err
	}
	if n.State, n.Reason = Done, ""; !ended.Results {
		n.fail(fmt.Sprintf("plimsoll run ended with status %d: %s", ended.Code, lastLine(ended.Said)))
	}
	return nil
}

// fetch takes a node's run directory, with the rights of the user who has the results. It has another name until it is
// whole.
func (c *Collector) fetch(ctx context.Context, name, pod string) (err error) {
	worker, err := sudouser.Worker(c.Dir)
	if err != nil {
		return err
	}
	var dir string
	err = worker.Do(func() (err error) {
		dir, err = os.MkdirTemp(c.Dir, ".taking-")
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, worker.Do(func() error { return os.RemoveAll(dir) })) }()
	r, w := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		err := c.exec(ctx, pod, w, "plimsoll-kubernetes", "node", "send", "--run", c.ID)
		w.CloseWithError(err)
		sent <- err
	}()
	err = worker.Do(func() error {
		_, err := tarball.Extract(r, node.RunName, dir, mostResults)
		return err
	})
	r.CloseWithError(err)
	if err = errors.Join(err, <-sent); err != nil {
		return err
	}
	if _, err := store.Read(filepath.Join(dir, node.RunName)); err != nil {
		return err
	}
	return worker.Do(func() error { return os.Rename(filepath.Join(dir, node.RunName), filepath.Join(c.Dir, name)) })
}

func deleteJob(ctx context.Context, client kubernetes.Interface, job *batchv1.Job) error {
	return unlessGone(client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &job.UID},
		PropagationPolicy: new(metav1.DeletePropagationBackground),
	}))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return printable.Line(lines[len(lines)-1])
}

// mostDetailed is up to how many nodes the progress of each one's trials is printed.
const mostDetailed = 8

// tell says how far a node is, where that is news.
func (c *Collector) tell(ctx context.Context, n *Node, s seen) {
	news := string(n.State)
	switch {
	case n.Reason != "":
		news += ": " + printable.Line(n.Reason)
	case n.State == Done && n.Code != 0:
		news += fmt.Sprintf(", and some of its trials are missing (status %d)", n.Code)
	case n.State == Measuring && len(c.Nodes) <= mostDetailed && s.pod != nil:
		log, err := c.client.CoreV1().Pods(c.Namespace).GetLogs(s.pod.Name, &corev1.PodLogOptions{
			Container: measures, TailLines: new(int64(1)), LimitBytes: new(int64(1 << 10)),
		}).DoRaw(ctx)
		if line := lastLine(string(log)); err == nil && strings.HasPrefix(line, "[") { // a trial's
			news += ": " + line
		}
	}
	if c.last[n.Name] == news {
		return
	}
	c.last[n.Name] = news
	ended := 0
	for i := range c.Nodes {
		if c.Nodes[i].ended() {
			ended++
		}
	}
	c.Tell("%s: %s (%d of %d nodes ended)", n.Name, news, ended, len(c.Nodes))
}
