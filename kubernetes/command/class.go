package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"plimsoll/internal/database"
	dbclient "plimsoll/internal/database/client"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/printable"
	"plimsoll/internal/state/sudouser"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/limits"
	"plimsoll/kubernetes/usage"
)

// classFlags are those of class.
type classFlags struct {
	Cluster
	namespace, out string
	database       string
	window, every  time.Duration
	onNode         bool
}

func classCommand() *cobra.Command {
	f := &classFlags{}
	c := &cobra.Command{
		Use:   "class NAMESPACE/POD",
		Short: "Propose the class, the demand and the limits of a pod that runs",
		Long: `Read for a while what a pod uses: I/O of its disks, processor time and memory, from its
cgroup. Propose annotations and limits by that, as a file to review: its comments
have the source of each number. Nothing in the cluster is changed.

The class is the one of the node's model whose I/O is most like the pod's. If there is no
model, or none is like it, the file has a workload to measure: put it into a copy of
examples/node.yaml.

The pod of limits on its node reads the cgroup, so you need the right to create
pods/portforward in the namespace plimsoll-limits. On the node itself, --on-node reads it here.

With --database, counters of the pod's server are read too, from here: give an address
that leads to it, such as one of kubectl port-forward. The demand is then in operations
of the server, if an operation of the class does about as many I/Os.

Choose a time when the pod is as busy as it should count.`,
		Example: `  plimsoll-kubernetes class shop/db-0 --for 10m -o db.yaml
  plimsoll-kubernetes class shop/db-0 --database postgresql,dsn=file:/home/me/shop.dsn`,
		Args: cobra.ExactArgs(1),
		RunE: f.run,
	}
	c.Flags().DurationVar(&f.window, "for", time.Minute, "how long to read")
	c.Flags().DurationVar(&f.every, "every", 5*time.Second, "how often")
	c.Flags().StringVar(&f.database, "database", "", "`server` to read counters of: KIND,dsn=file:PATH, dsn=env:NAME, or "+
		"cassandra,address=HOST:PORT (plimsoll watch --help)")
	c.Flags().BoolVar(&f.onNode, "on-node", false, "read the cgroups of this host")
	c.Flags().StringVar(&f.namespace, "namespace", iofit.Namespace, "`namespace` of the models")
	c.Flags().StringVarP(&f.out, "output", "o", "", "`file` to write (default: standard output)")
	f.Flags(c)
	return c
}

func (f *classFlags) run(c *cobra.Command, args []string) error {
	namespace, name, both := strings.Cut(args[0], "/")
	switch {
	case !both || namespace == "" || name == "" || strings.Contains(name, "/"):
		return fmt.Errorf("%q names no pod: class NAMESPACE/POD", args[0])
	case f.every < time.Second || f.window < f.every:
		return fmt.Errorf("--for %s --every %s: read at least once, and at most once a second", f.window, f.every)
	}
	server, problems := database.ParseRunning(f.database)
	if f.database != "" && len(problems) > 0 {
		return fmt.Errorf("--database: %s", problems.Join("; "))
	}
	config, err := f.config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	pod, err := client.CoreV1().Pods(namespace).Get(c.Context(), name, metav1.GetOptions{})
	switch {
	case err != nil:
		return fmt.Errorf("read pod %s: %w", args[0], err)
	case pod.Status.Phase != corev1.PodRunning:
		return fmt.Errorf("pod %s does not run: it is %s", args[0], pod.Status.Phase)
	}
	seen := observed{pod: pod}
	read, source, err := f.reader(c.Context(), client, config, pod)
	if err != nil {
		return err
	}
	seen.source = source
	if f.database != "" {
		counter, err := dbclient.DialCounter(c.Context(), server)
		if err != nil {
			return fmt.Errorf("--database: %w", err)
		}
		defer func() { _ = counter.Close() }()
		seen.counter = counter
	}
	Say(c.ErrOrStderr(), "Reading what pod %s does for %s; Ctrl-C ends it early.", args[0], f.window)
	if err := seen.watch(c.Context(), read, f.window, f.every); err != nil {
		return fmt.Errorf("pod %s: %w", args[0], err)
	}
	kind, note := f.kind(context.WithoutCancel(c.Context()), client, pod.Spec.NodeName)
	text, err := seen.propose(kind, note)
	if err != nil {
		return err
	}
	if f.out == "" {
		_, err = io.WriteString(c.OutOrStdout(), text)
		return err
	}
	return sudouser.Replace(f.out, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// mostSample is more than a sample of any pod takes.
const mostSample = 1 << 20

// reader returns how a pod's cgroup is read, and its source for people.
func (f *classFlags) reader(ctx context.Context, client kubernetes.Interface, config *rest.Config, pod *corev1.Pod) (
	read func(context.Context) (usage.Sample, error), source string, err error,
) {
	uid := string(pod.UID)
	if hash := pod.Annotations["kubernetes.io/config.hash"]; hash != "" { // of a static pod
		uid = hash
	}
	if f.onNode {
		return func(context.Context) (usage.Sample, error) { return usage.Read(hostfs.Default(), uid) }, "this host", nil
	}
	pods, err := client.CoreV1().Pods(iofit.LimitsNamespace).List(ctx,
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + pod.Spec.NodeName})
	if err != nil {
		return nil, "", fmt.Errorf("find the pod of limits on node %s: %w", pod.Spec.NodeName, err)
	}
	for i := range pods.Items {
		agent := &pods.Items[i]
		if !iofit.IsHolder(agent) || agent.Status.Phase != corev1.PodRunning || agent.DeletionTimestamp != nil {
			continue
		}
		read := func(ctx context.Context) (usage.Sample, error) { return sampleOf(ctx, client, config, agent, uid) }
		return read, fmt.Sprintf("pod %s/%s", agent.Namespace, agent.Name), nil
	}
	return nil, "", fmt.Errorf("no pod of limits runs on node %s: kubectl label node %s %s=true, once its runtime has "+
		"NRI (docs/reference/kubernetes.md), or run this on the node with --on-node", pod.Spec.NodeName, pod.Spec.NodeName,
		iofit.HeldLabel)
}

// sampleOf asks a pod of limits for a sample, through the API server and the node's kubelet: no network of pods has to
// admit it.
func sampleOf(ctx context.Context, client kubernetes.Interface, config *rest.Config, agent *corev1.Pod, uid string) (
	s usage.Sample, err error,
) {
	port := int32(limits.Port)
	for _, p := range agent.Spec.Containers[0].Ports {
		if p.Name == limits.PortName {
			port = p.ContainerPort
		}
	}
	to := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(agent.Namespace).Name(agent.Name).
		SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return s, err
	}
	stop, ready := make(chan struct{}), make(chan struct{})
	said := &printable.Tail{Most: mostSample >> 8}
	forward, err := portforward.NewOnAddresses(spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", to),
		[]string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, stop, ready, io.Discard, said)
	if err != nil {
		return s, err
	}
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		ended <- forward.ForwardPorts()
	}()
	defer func() {
		close(stop)
		for range ended { // until it has
		}
	}()
	within := func(err error) error {
		return fmt.Errorf("pod %s/%s: %w: %s", agent.Namespace, agent.Name, err,
			printable.Line(strings.TrimSpace(said.String())))
	}
	select {
	case <-ready:
	case err := <-ended:
		return s, within(cmp.Or(err, errors.New("it forwards nothing")))
	case <-ctx.Done():
		return s, ctx.Err()
	}
	ports, err := forward.GetPorts()
	if err != nil {
		return s, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("http://127.0.0.1:%d/usage/%s", ports[0].Local, uid), nil)
	if err != nil {
		return s, err
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return s, within(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostSample))
	switch {
	case err != nil:
		return s, within(err)
	case answer.StatusCode != http.StatusOK:
		return s, within(errors.New(printable.Line(string(text))))
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, within(fmt.Errorf("it answers no sample: %w", err))
	}
	return s, nil
}

// kind returns what is known of a node's kind; nil, and why, for nothing.
func (f *classFlags) kind(ctx context.Context, client kubernetes.Interface, name string) (*iofit.Kind, string) {
	n, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err.Error()
	}
	kind := iofit.KindOf(n)
	if kind == "" {
		return nil, fmt.Sprintf("node %s has no label %s", name, iofit.KindLabel)
	}
	maps, err := client.CoreV1().ConfigMaps(f.namespace).List(ctx,
		metav1.ListOptions{LabelSelector: iofit.KindLabel + "=" + kind})
	if err != nil {
		return nil, err.Error()
	}
	if len(maps.Items) == 0 {
		return nil, fmt.Sprintf("nodes of kind %s have no model", kind)
	}
	k, err := iofit.ParseKind(&maps.Items[0])
	if err != nil {
		return nil, err.Error()
	}
	return k, ""
}

// observed is what was seen of a pod.
type observed struct {
	pod    *corev1.Pod
	source string

	first, last usage.Sample
	all         usage.Rates   // over the whole time
	intervals   []usage.Rates // of each interval
	server      serverRates
	counter     database.Counter // nil for none
	memory      int64            // the most that was seen
	private     int64
}

// watch reads samples until the time is over, or the context is done and there are two.
func (o *observed) watch(ctx context.Context, read func(context.Context) (usage.Sample, error),
	window, every time.Duration,
) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		s, err := read(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		if o.counter != nil {
			o.server.add(o.counter.Counts(context.WithoutCancel(ctx)))
		}
		if n == 0 {
			o.first = s
		} else {
			r, err := usage.Between(o.last, s)
			if err != nil {
				return err
			}
			o.intervals = append(o.intervals, r)
		}
		o.last = s
		o.memory, o.private = max(o.memory, s.Memory), max(o.private, s.Private)
		if n > 0 && (ctx.Err() != nil || s.Time.Sub(o.first.Time) >= window) {
			o.all, err = usage.Between(o.first, s)
			return err
		}
		select {
		case <-ctx.Done():
			if n == 0 {
				return ctx.Err()
			}
		case <-tick.C:
		}
	}
}

// patchOf returns how the file is applied.
func patchOf(pod *corev1.Pod) (command string, template bool) {
	owner := metav1.GetControllerOf(pod)
	switch {
	case owner == nil:
		return "a pod without a controller: put it into its manifest, and make the pod again", false
	case owner.Kind == "ReplicaSet":
		deployment := owner.Name
		if hash := pod.Labels["pod-template-hash"]; hash != "" {
			deployment = strings.TrimSuffix(owner.Name, "-"+hash)
		}
		return fmt.Sprintf("kubectl --namespace %s patch deployment %s --patch-file FILE", pod.Namespace, deployment), true
	case owner.Kind == "StatefulSet" && owner.APIVersion == "apps/v1":
		return fmt.Sprintf("kubectl --namespace %s patch statefulset %s --patch-file FILE", pod.Namespace, owner.Name), true
	}
	return fmt.Sprintf("%s %s makes the pod: put it there (docs/reference/kubernetes.md, databases that an operator runs)",
		owner.Kind, owner.Name), true
}
