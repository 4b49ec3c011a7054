package fleet

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

// A Job's name locks its node: it is one that Jobs may have, and no two nodes share it.
func TestNamesOfJobs(t *testing.T) {
	long := strings.Repeat("a", 70)
	seen := map[string]string{}
	for _, node := range []string{
		"n", "node-1", "node.1", "ip-10-0-0-1.ec2.internal", "10.0.0.1", long, long + "b", long[:54], long[:55],
		strings.Repeat("a.", 60) + "a", strings.Repeat("a-", 60) + "a",
	} {
		name := jobName(node)
		if wrong := validation.IsDNS1123Label(name); wrong != nil {
			t.Errorf("%s: %s: %v", node, name, wrong)
		}
		if other := seen[name]; other != "" {
			t.Errorf("%s and %s share %s", node, other, name)
		}
		seen[name] = node
	}
	if name := jobName("node-17"); name != "plimsoll-node-17" {
		t.Error(name)
	}
}

func TestNewID(t *testing.T) {
	at := time.Date(2026, 11, 27, 1, 2, 3, 0, time.UTC)
	for experiment, want := range map[string]string{
		"density": "density-20261127-010203-", "../a b/My_own.File.yaml": "my-own-file-20261127-010203-",
		strings.Repeat("x", 99): strings.Repeat("x", 40) + "-20261127-010203-", "---": "20261127-010203-",
	} {
		id := NewID(experiment, at)
		if !strings.HasPrefix(id, want) || len(id) != len(want)+5 || validation.IsDNS1123Label(id) != nil {
			t.Errorf("%s: %s, not %s", experiment, id, want)
		}
		if NewID(experiment, at) == id {
			t.Errorf("two runs that start at once are both %s", id)
		}
	}
}

// A path is another device on another node, and an argument is no way to another option.
func TestCheckArgs(t *testing.T) {
	err := CheckArgs([]string{
		"--destroy=S4EVNF0M123456", "--destroy=S4EVNF0M123456=signature", "--on=S4EVNF0M1", "--on=dir:/srv", "--budget=5m",
	})
	if err != nil {
		t.Error(err)
	}
	for _, d := range []string{"/dev/nvme1n1", "/dev/disk/by-id/x", "../sda", "-x", "", "S4=mounted", "a b"} {
		if CheckArgs([]string{"--destroy=" + d}) == nil {
			t.Errorf("--destroy %q was taken", d)
		}
	}
	for _, o := range []string{"/dev/nvme1n1", "dir:relative", "--destroy=/dev/sda", ""} {
		if CheckArgs([]string{"--on=" + o}) == nil {
			t.Errorf("--on %q was taken", o)
		}
	}
	all := []string{"--destroy=/dev/a", "--on=/dev/b", "--state=/c", "--output=/d", "-o", "--", "e", "--=",
		"--keep-data=0"}
	err = CheckArgs(all)
	for _, a := range all {
		_, value, _ := strings.Cut(a, "=")
		if err == nil || !strings.Contains(err.Error(), value) {
			t.Errorf("%v does not say %s", err, a)
		}
		if CheckArgs([]string{a}) == nil {
			t.Errorf("%q was taken", a)
		}
	}
}

func aNode(name, kind string, ready corev1.ConditionStatus) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"plimsoll.dev/kind": kind, "pool": "db"}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
}

func TestChoose(t *testing.T) {
	nodes := []corev1.Node{
		aNode("c", "big", corev1.ConditionTrue), aNode("b", "big", corev1.ConditionTrue),
		aNode("a", "big", corev1.ConditionFalse), aNode("d", "small", corev1.ConditionTrue),
		aNode("e", "big", corev1.ConditionTrue), aNode("f", "big", corev1.ConditionTrue),
	}
	nodes = append(nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
	chosen, left, err := Choose(nodes, map[string]string{"e": "it belongs to the control plane"}, "pool=db", 2)
	var names []string
	for _, n := range chosen {
		names = append(names, n.Name+" "+n.Kind)
	}
	if err != nil || strings.Join(names, ", ") != "b big, c big, d small" {
		t.Errorf("%v, %v", names, err)
	}
	if len(left) != 3 || left[0] != "node a is not ready" ||
		!strings.HasPrefix(left[1], "node e: it belongs to the control plane (--disturb") ||
		left[2] != "1 more node of kind big: 2 of the kind are measured" {
		t.Errorf("%q", left)
	}
	if _, _, err := Choose(nodes, nil, "pool=web", 0); err == nil {
		t.Error("no node is a run")
	}
	if _, _, err := Choose(nodes, nil, "pool in", 0); err == nil {
		t.Error("that is no selector")
	}
}

// Nodes of control planes, and of pods that keep data or were placed by what they need, are not disturbed.
func TestBusy(t *testing.T) {
	plane := aNode("plane", "big", corev1.ConditionTrue)
	plane.Labels["node-role.kubernetes.io/control-plane"] = ""
	on := func(node string, change func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p-" + node},
			Spec:       corev1.PodSpec{NodeName: node},
		}
		change(&p)
		return p
	}
	set := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Controller: new(true)}}
	}
	busy := Busy([]corev1.Node{plane, aNode("a", "big", corev1.ConditionTrue)}, []corev1.Pod{
		on("set", set), on("done", func(p *corev1.Pod) { set(p); p.Status.Phase = corev1.PodSucceeded }),
		on("class", func(p *corev1.Pod) { p.Annotations = map[string]string{"plimsoll.dev/class": "C"} }),
		on("claim", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}}
		}),
		on("web", func(*corev1.Pod) {}),
	})
	got := slices.Sorted(maps.Keys(busy))
	if strings.Join(got, " ") != "claim class plane set" || !strings.Contains(busy["set"], "shop/p-set") {
		t.Errorf("%v", busy)
	}
}

// So many of a kind are measured at once as were asked for, and the others when these have ended. Pods request what the
// scaled-down host has.
func TestNodesAreMeasuredInTurn(t *testing.T) {
	r := &Record{ID: "x-1", Namespace: Namespace, Experiment: "density", HostCPUs: 1.5, HostMemory: 1 << 30}
	for _, name := range []string{"a1", "a2", "a3", "b1"} {
		r.Nodes = append(r.Nodes, Node{Name: name, Kind: name[:1], State: Queued})
	}
	client := fake.NewClientset()
	for _, n := range r.Nodes {
		is := aNode(n.Name, n.Kind, corev1.ConditionTrue)
		if err := client.Tracker().Add(&is); err != nil {
			t.Fatal(err)
		}
	}
	c := &Collector{Record: r, Dir: t.TempDir(), client: client}
	jobs := func() string {
		if err := c.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		all, err := client.BatchV1().Jobs(Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, j := range all.Items {
			names = append(names, j.Annotations[NodeAnnotation])
			has := j.Spec.Template.Spec.InitContainers[0].Resources.Requests
			if has.Cpu().MilliValue() != 1500 || has.Memory().Value() != 1<<30 {
				t.Errorf("it requests %v", has)
			}
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	for _, step := range []struct {
		parallel int
		done     int
		want     string
	}{{0, -1, "a1 b1"}, {1, 0, "a1 a2 b1"}, {2, -1, "a1 a2 a3 b1"}} {
		if step.done >= 0 {
			r.Nodes[step.done].State = Done
		}
		r.Parallel = step.parallel
		if got := jobs(); got != step.want {
			t.Errorf("%+v: %s", step, got)
		}
	}
	if read, err := Read(c.Dir); err != nil || read.Nodes[3].State != Waiting {
		t.Errorf("%+v, %v", read, err)
	}
}

// inTurn is a run of nodes of one kind, measured one after the other, whose clock is the test's.
func inTurn(t *testing.T, now *time.Time, nodes ...corev1.Node) (*Collector, *fake.Clientset) {
	t.Helper()
	r := &Record{ID: "x-1", Namespace: Namespace, Experiment: "density", Cordon: true}
	client := fake.NewClientset()
	for i := range nodes {
		r.Nodes = append(r.Nodes, Node{Name: nodes[i].Name, Kind: "a", State: Queued})
		if err := client.Tracker().Add(&nodes[i]); err != nil {
			t.Fatal(err)
		}
	}
	return &Collector{Record: r, Dir: t.TempDir(), client: client, Tell: t.Logf, last: map[string]string{},
		since: map[string]time.Time{}, now: func() time.Time { return *now }}, client
}

// step goes on once, as Run does.
func (c *Collector) step(t *testing.T) {
	t.Helper()
	seen, err := c.look(t.Context(), RunLabel+"="+c.ID)
	if err == nil {
		err = c.take(t.Context(), seen)
	}
	if err == nil {
		err = c.start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A node is cordoned before it has a Job, again where someone takes that back, and no longer once the run lets it go.
func TestCordonsComeFirstAndEnd(t *testing.T) {
	now := time.Unix(0, 0)
	c, client := inTurn(t, &now, aNode("a1", "a", corev1.ConditionTrue), aNode("a2", "a", corev1.ConditionTrue))
	state := func() (cordoned string, jobs int) {
		t.Helper()
		nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range nodes.Items {
			if nodes.Items[i].Spec.Unschedulable {
				cordoned += nodes.Items[i].Name
			}
		}
		all, err := client.BatchV1().Jobs(Namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return cordoned, len(all.Items)
	}
	is := func(when, cordoned string, jobs int) {
		t.Helper()
		if got, n := state(); got != cordoned || n != jobs {
			t.Errorf("%s: %q is cordoned with %d Jobs, and not %q with %d", when, got, n, cordoned, jobs)
		}
	}
	refuse := true
	client.PrependReactor("patch", "nodes", func(ktesting.Action) (bool, runtime.Object, error) {
		return refuse, nil, errors.New("no answer")
	})
	if err := c.start(t.Context()); err == nil {
		t.Error("it does not say that nothing was cordoned")
	}
	is("the cordon failed", "", 0)
	refuse = false
	c.step(t)
	is("at the second try", "a1", 1)
	if err := uncordon(t.Context(), client, "a1", c.ID); err != nil {
		t.Fatal(err)
	}
	is("someone takes it back", "", 1)
	c.step(t)
	is("at the next look", "a1", 1)
	// Its Job is deleted before anything ran: the next node's turn.
	if err := client.BatchV1().Jobs(Namespace).Delete(t.Context(), jobName("a1"), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.step(t)
	is("the Job was deleted", "a2", 1)
	client.PrependReactor("create", "jobs", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no answer")
	})
	if err := client.BatchV1().Jobs(Namespace).Delete(t.Context(), jobName("a2"), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Nodes[1].State = Queued
	if err := c.start(t.Context()); err == nil {
		t.Error("it does not say that there is no Job")
	}
	is("there is no Job", "a2", 0)
	c.release(t.Context())
	is("the command ended", "", 0)
}

// A node that dies, or whose pod never starts, is given up after a while, and the next of its kind is measured. One
// that has got busy is left out.
func TestDeadNodesBlockNoOthers(t *testing.T) {
	now := time.Unix(0, 0)
	c, client := inTurn(t, &now, aNode("a1", "a", corev1.ConditionTrue), aNode("a2", "a", corev1.ConditionTrue),
		aNode("a3", "a", corev1.ConditionTrue), aNode("a4", "a", corev1.ConditionTrue))
	states := func(when, want string) {
		t.Helper()
		var got []string
		for _, n := range c.Nodes {
			got = append(got, string(n.State))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, and not %s: %+v", when, text, want, c.Nodes)
		}
	}
	c.step(t)
	states("at first", "waiting queued queued queued")
	dead := aNode("a1", "a", corev1.ConditionUnknown)
	if err := client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("nodes"), &dead, ""); err != nil {
		t.Fatal(err)
	}
	c.step(t)
	now = now.Add(longestAway - time.Second)
	c.step(t)
	states("for a while", "waiting queued queued queued")
	now = now.Add(time.Second)
	database := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db",
		OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Controller: new(true)}}},
		Spec: corev1.PodSpec{NodeName: "a2"}}
	if err := client.Tracker().Add(&database); err != nil {
		t.Fatal(err)
	}
	c.step(t)
	states("too long", "failed failed waiting queued")
	if why := c.Nodes[0].Reason; why != "for 10m0s, the node is not ready" {
		t.Error(why)
	}
	if why := c.Nodes[1].Reason; !strings.Contains(why, "shop/db") {
		t.Error(why)
	}
	if err := client.CoreV1().Nodes().Delete(t.Context(), "a3", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.step(t)
	states("scaled down", "failed failed failed waiting")
	jobs, err := client.BatchV1().Jobs(Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(jobs.Items) != 1 || jobs.Items[0].Annotations[NodeAnnotation] != "a4" {
		t.Errorf("%v, %v", jobs, err)
	}
}

// A node that is not ready is not waited for, and what its run cordoned is said.
func TestCleanPassesOverDeadNodes(t *testing.T) {
	r := &Record{ID: "x-1", Namespace: Namespace, Experiment: "density", Image: "i"}
	dead := aNode("dead", "big", corev1.ConditionUnknown)
	dead.Annotations, dead.Spec.Unschedulable = map[string]string{CordonedBy: "x-1"}, true
	client := fake.NewClientset(&dead, r.measureJob("dead"), r.measureJob("gone"))
	if left := Cordoned([]corev1.Node{dead}, []Job{{Node: Node{Name: "dead"}, Run: "x-1"}}); len(left) > 0 {
		t.Errorf("it is measured: %v", left)
	}
	if left := Cordoned([]corev1.Node{dead}, []Job{{Node: Node{Name: "dead"}, Run: "y-1"}}); left["dead"] != "x-1" {
		t.Errorf("%v", left)
	}
	err := Clean(
		t.Context(),
		client,
		Namespace,
		"x-1",
		"",
		nil,
		func(format string, args ...any) { t.Errorf(format, args...) },
	)
	for _, want := range []string{"node dead is not clean", "node gone is not clean", "--nodes once it is back"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	jobs, err := client.BatchV1().Jobs(Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(jobs.Items) > 0 {
		t.Errorf("%v, %v", jobs, err)
	}
	now, err := client.CoreV1().Nodes().Get(t.Context(), "dead", metav1.GetOptions{})
	if err != nil || now.Spec.Unschedulable {
		t.Errorf("it is cordoned for ever: %v", err)
	}
}

// An experiment that is no file is one of ours, and no path or option on a node.
func TestReadKnowsTheExperiment(t *testing.T) {
	for _, name := range []string{"/etc/x.yaml", "--resume", "", "nothing"} {
		dir := t.TempDir()
		if err := (&Record{ID: "x-1", Namespace: Namespace, Experiment: name}).Write(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil ||
			!strings.Contains(err.Error(), "there is no experiment and no file of that name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A record may be someone else's: its names become paths here, and objects in the cluster.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "is no run of a fleet") {
		t.Error(err)
	}
	r := &Record{
		ID: "x-1", Namespace: Namespace, Experiment: "density", Args: []string{"--budget=5m"},
		Nodes: []Node{{Name: "a"}, {Name: "b.example"}},
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(dir); err != nil || len(got.Nodes) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	bad := &Record{
		ID: "../x", Namespace: "kube/system", File: "../../etc/passwd", Args: []string{"--state=/"},
		Nodes: []Node{{Name: "../../tmp/x"}, {Name: "a"}, {Name: "a"}},
	}
	if err := bad.Write(dir); err != nil {
		t.Fatal(err)
	}
	_, err := Read(dir)
	for _, want := range []string{
		`"--state=/" is no setting`, `id "../x"`, `namespace "kube/system"`, "etc/passwd", "tmp/x", "a is there twice",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}

// A Job's pod lets go of what the node unmounts, is followed by another once it has ended, and is not there for ever.
func TestJobsLetGo(t *testing.T) {
	r := &Record{ID: "x-1", Namespace: Namespace, Experiment: "density", Priority: PriorityClass}
	for _, job := range []*batchv1.Job{r.measureJob("a"), r.cleanJob("a")} {
		spec := job.Spec
		if p := spec.PodReplacementPolicy; p == nil || *p != batchv1.Failed {
			t.Errorf("a pod is replaced while it may still run: %v", p)
		}
		if spec.ActiveDeadlineSeconds == nil || spec.TTLSecondsAfterFinished == nil {
			t.Error("it has no end")
		}
		// It is evicted first while it measures, and not while it cleans.
		if of := spec.Template.Spec; (of.PriorityClassName == PriorityClass) != (len(of.InitContainers) > 0) {
			t.Errorf("it has the priority %q", of.PriorityClassName)
		}
		for _, c := range slices.Concat(spec.Template.Spec.InitContainers, spec.Template.Spec.Containers) {
			for _, m := range c.VolumeMounts {
				want := corev1.MountPropagationHostToContainer
				if m.Name == "host" && (m.MountPropagation == nil || *m.MountPropagation != want) {
					t.Errorf("%s keeps volumes of other pods mounted", c.Name)
				}
			}
			if user := c.SecurityContext.RunAsUser; user == nil || *user != 0 {
				t.Errorf("%s runs as the image's user, who may not measure", c.Name)
			}
		}
	}
}

// How far a node is follows from its Job and pod alone.
func TestJudge(t *testing.T) {
	job := func(condition batchv1.JobConditionType) *batchv1.Job {
		j := &batchv1.Job{}
		if condition != "" {
			j.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue}}
		}
		return j
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: "Error", Message: "no",
		}}
	}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	pod := func(measure, keep corev1.ContainerState) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{{Name: measures, State: measure}},
			ContainerStatuses:     []corev1.ContainerStatus{{Name: keeps, State: keep}},
		}}
	}
	unplaced := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"},
	}}}
	for _, c := range []struct {
		seen
		state  State
		reason string
	}{
		{seen{}, Failed, "its Job was deleted"},
		{seen{job: job("")}, Waiting, "there is no pod yet"},
		{seen{job: job(""), pod: unplaced}, Waiting, "0/3 nodes are available"},
		{seen{job: job(""), pod: pod(waits, waits)}, Waiting, "ImagePullBackOff"},
		{seen{job: job(""), pod: pod(running, waits)}, Measuring, ""},
		{seen{job: job(""), pod: pod(ended(0), waits)}, Measuring, ""},
		{seen{job: job(""), pod: pod(ended(0), running)}, Measured, ""},
		{seen{job: job(""), pod: pod(ended(1), waits)}, Waiting, ""}, // another pod follows
		{seen{job: job(batchv1.JobComplete), pod: pod(ended(0), ended(0))}, Measured, ""},
		{seen{job: job(batchv1.JobFailed), pod: pod(ended(1), waits)}, Failed, "the last: Error, status 1 no"},
		{seen{job: job(batchv1.JobFailed)}, Failed, "it is gone"},
	} {
		n := &Node{State: Measuring, Reason: "old"}
		n.judge(c.seen)
		if n.State != c.state || !strings.Contains(n.Reason, c.reason) || c.reason == "" && n.Reason != "" {
			t.Errorf("%+v, not %s %q", n, c.state, c.reason)
		}
	}
}
