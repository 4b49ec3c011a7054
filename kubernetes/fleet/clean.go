package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"plimsoll/internal/printable"
)

// appLabel is of all that fleets make.
const appLabel = "app=plimsoll-fleet"

// Job is a node that is measured, as anyone who asks the API server sees it.
type Job struct {
	Node

	Run   string
	Since time.Time

	image string
	job   *batchv1.Job
}

// Jobs returns the nodes that are measured, or were and keep their results: of one run, or of all with "".
func Jobs(ctx context.Context, client kubernetes.Interface, namespace, run string) (jobs []Job, err error) {
	selector := appLabel
	if run != "" {
		selector += "," + RunLabel + "=" + run
	}
	c := Collector{Record: &Record{Namespace: namespace}, client: client}
	found, err := c.look(ctx, selector)
	if err != nil {
		return nil, fmt.Errorf("read Jobs of fleets: %w", err)
	}
	for name, s := range found {
		j := Job{
			Node: Node{Name: name}, Run: s.job.Labels[RunLabel], Since: s.job.CreationTimestamp.Time, job: s.job,
			image: s.job.Spec.Template.Spec.Containers[0].Image,
		}
		j.judge(s)
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// Clean ends the measurements of a run, or of all runs with "", has each of their nodes undo
// what was left there, and removes what fleets made in the cluster. Results that were not
// taken are lost. More nodes can be named, which have no Job: they are cleaned with an image.
// It says of each node how that went.
func Clean(ctx context.Context, client kubernetes.Interface, namespace, run, image string, nodeNames []string,
	tell func(format string, args ...any),
) error {
	jobs, err := Jobs(ctx, client, namespace, run)
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	able := map[string]bool{}
	for i := range nodes.Items {
		able[nodes.Items[i].Name] = ready(&nodes.Items[i])
	}
	images, nodeJobs := map[string]string{}, map[string]*batchv1.Job{}
	for _, name := range nodeNames {
		images[name] = image
	}
	for _, j := range jobs {
		images[j.Name], nodeJobs[j.Name] = j.image, j.job
	}
	r := Record{ID: "clean", Namespace: namespace}
	if run != "" {
		r.ID = run
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var problems []error
	for name, image := range images {
		group.Go(func() {
			r := r
			r.Image = image
			err := r.cleanNode(ctx, client, name, nodeJobs[name], able[name])
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				problems = append(problems, fmt.Errorf("node %s is not clean: %w", printable.Line(name), err))
				return
			}
			tell("%s is clean", printable.Line(name))
		})
	}
	group.Wait()
	return errors.Join(append(problems, release(ctx, client, namespace, run))...)
}

// cleanNode ends a node's Job, if it has one, and has the node undo what was left. Of a node that is not able to, it
// only deletes the Job.
func (r *Record) cleanNode(
	ctx context.Context, client kubernetes.Interface, name string, job *batchv1.Job, able bool,
) error {
	if !able {
		var err error
		if job != nil {
			err = deleteJob(ctx, client, job)
		}
		return errors.Join(err, errors.New("it is not ready, or gone: clean it with --nodes once it is back"))
	}
	if job != nil {
		if err := end(ctx, client, job); err != nil {
			return fmt.Errorf("end its Job: %w", err)
		}
	}
	_, err := client.BatchV1().Jobs(r.Namespace).Create(ctx, r.cleanJob(name), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return cleaned(ctx, client, r.Namespace, name)
}

// Cordoned returns the nodes that runs cordoned and do not measure any more, each with its run.
func Cordoned(nodes []corev1.Node, jobs []Job) map[string]string {
	left := map[string]string{}
	for i := range nodes {
		if by := nodes[i].Annotations[CordonedBy]; by != "" {
			left[nodes[i].Name] = by
		}
	}
	for _, j := range jobs {
		if left[j.Name] == j.Run {
			delete(left, j.Name)
		}
	}
	return left
}

// longestClean is how long a node may take to undo what was left.
const longestClean = 10 * time.Minute

// end deletes a Job and waits until its pods have ended, which undo what they did.
func end(ctx context.Context, client kubernetes.Interface, job *batchv1.Job) error {
	jobs := client.BatchV1().Jobs(job.Namespace)
	err := unlessGone(jobs.Delete(ctx, job.Name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationForeground),
	}))
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, time.Second, longestClean, true, func(ctx context.Context) (bool, error) {
		now, err := jobs.Get(ctx, job.Name, metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && now.UID != job.UID, nil
	})
}

// cleaned waits until a node's clean Job has ended, and removes it where it did what it was to.
func cleaned(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	c := Collector{Record: &Record{Namespace: namespace}, client: client}
	var last seen
	err := wait.PollUntilContextTimeout(ctx, time.Second, longestClean, true, func(ctx context.Context) (bool, error) {
		byNode, err := c.look(ctx, appLabel)
		if err != nil {
			return false, nil //nolint:nilerr // the API server may be away for a while
		}
		last = byNode[name]
		return last.job == nil || last.has(batchv1.JobComplete) || last.has(batchv1.JobFailed), nil
	})
	switch {
	case last.job == nil:
		return errors.Join(err, errors.New("its Job was deleted"))
	case last.has(batchv1.JobComplete):
		return deleteJob(ctx, client, last.job)
	case last.has(batchv1.JobFailed):
		return errors.New(lastWords(last.pod))
	case last.pod != nil:
		return fmt.Errorf("%w: %s %s", err, last.pod.Status.Phase, unscheduled(last.pod))
	}
	return err
}

// release uncordons the nodes of a run, and removes its experiment; of all runs with "".
func release(ctx context.Context, client kubernetes.Interface, namespace, run string) error {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var problems []error
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if by := n.Annotations[CordonedBy]; by != "" && (run == "" || by == run) {
			problems = append(problems, uncordon(ctx, client, n.Name, by))
		}
	}
	selector := RunLabel
	if run != "" {
		selector += "=" + run
	}
	maps := client.CoreV1().ConfigMaps(namespace)
	found, err := maps.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return errors.Join(append(problems, err)...)
	}
	for _, m := range found.Items {
		problems = append(problems, maps.Delete(ctx, m.Name, metav1.DeleteOptions{}))
	}
	return errors.Join(problems...)
}
