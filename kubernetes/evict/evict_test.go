package evict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"plimsoll/internal/placement"
	"plimsoll/kubernetes/replan"
)

func pod(name, of, on string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name),
			Labels:          map[string]string{"app": of},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: of, Controller: new(true)}}},
		Spec: corev1.PodSpec{NodeName: on}, Status: corev1.PodStatus{Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func move(p *corev1.Pod, to string) replan.PodMove {
	of := p.OwnerReferences[0].Name
	return replan.PodMove{Pod: p, Move: placement.Move{Containers: of, From: p.Spec.NodeName, To: to}}
}

// cluster is an API server, its controllers and its scheduler, as far as evictions go.
type cluster struct {
	*Evictor

	t       *testing.T
	client  *fake.Clientset
	lands   map[string]string // nodes that new pods go to, by the pods before them
	refuse  func(attempt int, e *policyv1.Eviction) error
	asked   []string // evictions, those that were refused included
	forbids string   // a namespace
	largest int32    // number of pods that were ending at one time
	ending  atomic.Int32
}

// in runs a test in a cluster whose clock is not the world's.
func in(t *testing.T, test func(c *cluster), objects ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t, client: fake.NewClientset(objects...), lands: map[string]string{}}
		c.client.PrependReactor("create", "selfsubjectaccessreviews", func(a ktesting.Action) (
			bool, runtime.Object, error,
		) {
			r := a.(ktesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
			ask := r.Spec.ResourceAttributes
			r.Status.Allowed = ask.Verb == "create" && ask.Resource == "pods" && ask.Subresource == "eviction" &&
				ask.Namespace != c.forbids
			return true, r, nil
		})
		c.client.PrependReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
			if a.GetSubresource() != "eviction" {
				return false, nil, nil
			}
			return true, nil, c.evicted(a.(ktesting.CreateAction).GetObject().(*policyv1.Eviction))
		})
		factory := informers.NewSharedInformerFactory(c.client, 0)
		c.Evictor = &Evictor{Client: c.client, Pods: factory.Core().V1().Pods().Lister(),
			Budgets: factory.Policy().V1().PodDisruptionBudgets().Lister(), Retry: time.Minute, Ready: time.Minute}
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		test(c)
		cancel()
		factory.Shutdown()
	})
}

// evicted does what an API server does with an eviction, and what controllers do then.
func (c *cluster) evicted(e *policyv1.Eviction) error {
	c.asked = append(c.asked, e.Name)
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	got, err := c.client.Tracker().Get(pods, e.Namespace, e.Name)
	if err != nil {
		return err
	}
	p := got.(*corev1.Pod)
	if c.refuse != nil {
		if err := c.refuse(len(c.asked), e); err != nil {
			return err
		}
	}
	if *e.DeleteOptions.Preconditions.UID != p.UID {
		return apierrors.NewConflict(pods.GroupResource(), e.Name, errors.New("the UID in the precondition does not match"))
	}
	if len(e.DeleteOptions.DryRun) > 0 {
		return nil
	}
	c.largest = max(c.largest, c.ending.Add(1))
	to := c.lands[p.Name]
	next := pod(p.Name+"+", p.OwnerReferences[0].Name, to)
	if to == "" {
		next.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Message: "0/2 nodes are available"}}
	}
	if err := c.client.Tracker().Add(next); err != nil {
		return err
	}
	go func() {
		time.Sleep(2700 * time.Millisecond) // between two looks at it
		c.ending.Add(-1)
		if err := c.client.Tracker().Delete(pods, p.Namespace, p.Name); err != nil {
			c.t.Error(err)
		}
	}()
	return nil
}

// ends checks how moves end, by their pods.
func (c *cluster) ends(ctx context.Context, moves []replan.PodMove, want ...Verdict) []string {
	c.t.Helper()
	var verdicts []Verdict
	var lines []string
	for _, o := range c.Run(ctx, moves) {
		verdicts, lines = append(verdicts, o.Verdict), append(lines, o.String())
	}
	if !slices.Equal(verdicts, want) {
		c.t.Errorf("%q, and not %q", lines, want)
	}
	return lines
}

func (c *cluster) says(line string, parts ...string) {
	c.t.Helper()
	for _, part := range parts {
		if !strings.Contains(line, part) {
			c.t.Errorf("%q is not in %q", part, line)
		}
	}
}

// blocked is what an API server answers while a budget allows no eviction.
func blocked() error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause,
		Message: "The disruption budget orders needs 2 healthy pods and has 2 currently"}}
	return err
}

func budget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders"},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"app": "orders"}}}}
}

// Pods move one after the other, each when the one before is gone and its successor Ready; several at once where that
// is asked, and of one controller never.
func TestPodsMove(t *testing.T) {
	for _, test := range []struct {
		atOnce  int
		largest int32
	}{{0, 1}, {1, 1}, {4, 2}} {
		a, b, other := pod("a", "orders", "s1"), pod("b", "orders", "s1"), pod("o", "other", "s1")
		in(t, func(c *cluster) {
			c.AtOnce, c.lands = test.atOnce, map[string]string{"a": "f1", "b": "f2", "o": "f1"}
			moves := []replan.PodMove{move(a, "f1"), move(other, "f1"), move(b, "f2")}
			lines := c.ends(c.t.Context(), moves, Moved, Moved, Moved)
			c.says(lines[0], "Moved: pod shop/", "from s1 to f1", "+ is Ready after 3s")
			if c.largest != test.largest {
				t.Errorf("%d pods moved at once, and not %d", c.largest, test.largest)
			}
		}, a, b, other)
	}
}

// An eviction that a budget refuses is tried again until it is allowed or the time is up, and then the budget is named.
func TestBudgetsHold(t *testing.T) {
	a, b, c1 := pod("a", "orders", "s1"), pod("b", "others", "f1"), pod("c", "orders", "f1")
	in(t, func(c *cluster) {
		c.lands["a"] = "f1"
		c.refuse = func(attempt int, _ *policyv1.Eviction) error {
			if attempt < 4 {
				return blocked()
			}
			return nil
		}
		c.ends(c.t.Context(), []replan.PodMove{move(a, "f1")}, Moved)
		if len(c.asked) != 4 {
			t.Errorf("%q were asked", c.asked)
		}
	}, a, budget())
	in(t, func(c *cluster) {
		c.lands["c"] = "f2"
		c.refuse = func(_ int, e *policyv1.Eviction) error {
			if e.Name == "a" {
				return blocked()
			}
			return nil
		}
		begun := time.Now()
		lines := c.ends(c.t.Context(), []replan.PodMove{move(a, "f1"), move(b, "s1"), move(c1, "f2")}, Refused, Left, Moved)
		c.says(lines[0], "Refused: pod shop/a, from s1 to f1: PodDisruptionBudget orders allows no eviction",
			"needs 2 healthy pods")
		c.says(lines[1], "Left: pod shop/b", "needs the room on s1 of pod shop/a")
		if took := time.Since(begun); took < 50*time.Second {
			t.Errorf("it was tried for %s", took)
		}
	}, a, b, c1, budget())
}

// What is not as the plan saw it is not evicted.
func TestChangedPodsStay(t *testing.T) {
	seen, gone, alone := pod("a", "orders", "s1"), pod("gone", "orders", "s1"), pod("alone", "orders", "s1")
	replaced := seen.DeepCopy()
	replaced.UID = "another"
	raced := pod("raced", "orders", "s1")
	alone.OwnerReferences[0].Controller = nil
	breaks := move(pod("breaks", "orders", "s1"), "f1")
	breaks.Breaks = "p99"
	in(t, func(c *cluster) {
		c.refuse = func(_ int, e *policyv1.Eviction) error { // it was made anew between the last look and the eviction
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, e.Name, errors.New("another UID"))
		}
		lines := c.ends(c.t.Context(), []replan.PodMove{move(seen, "f1"), move(gone, "f1"), move(alone, "f1"), breaks,
			move(raced, "f1")}, Changed, Changed, Left, Left, Changed)
		c.says(lines[2], "it has no controller")
		c.says(lines[3], "a limit would break on the way: p99")
		if !slices.Equal(c.asked, []string{"raced"}) {
			t.Errorf("%q were asked to go", c.asked)
		}
	}, replaced, alone, raced)
}

// A pod that was marked since the plan was made is not evicted.
func TestMarkedPodsStay(t *testing.T) {
	seen := pod("a", "orders", "s1")
	now := seen.DeepCopy()
	now.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
	in(t, func(c *cluster) {
		lines := c.ends(c.t.Context(), []replan.PodMove{move(seen, "f1")}, Left)
		c.says(lines[0], "karpenter.sh/do-not-disrupt")
		if len(c.asked) > 0 {
			t.Errorf("%q were asked to go", c.asked)
		}
	}, now)
}

// A pod that lands on another node than planned takes the place of an equal one, or ends the moves.
func TestPodsThatLandOnOtherNodes(t *testing.T) {
	a, b := pod("a", "orders", "s1"), pod("b", "orders", "s1")
	moves := []replan.PodMove{move(a, "f1"), move(b, "f2")}
	in(t, func(c *cluster) {
		c.lands = map[string]string{"a": "f2", "b": "f1"}
		lines := c.ends(c.t.Context(), moves, OtherNode, Moved)
		c.says(lines[0], "to f2, and not to f1 as planned", "pod shop/b, which was to go there, goes to f1")
	}, a, b)
	in(t, func(c *cluster) {
		c.lands = map[string]string{"a": "s1", "b": "f2"}
		lines := c.ends(c.t.Context(), moves, OtherNode, Left)
		c.says(lines[1], "plan again")
	}, a, b)
}

// A pod that goes a detour is evicted twice: the second time it is the one that its controller made.
func TestDetours(t *testing.T) {
	a := pod("a", "orders", "s1")
	there, on := move(a, "f1"), move(a, "f2")
	there.Detour, on.From = true, "f1"
	in(t, func(c *cluster) {
		c.AtOnce, c.lands = 2, map[string]string{"a": "f1", "a+": "f2"}
		c.ends(c.t.Context(), []replan.PodMove{there, on}, Moved, Moved)
		if !slices.Equal(c.asked, []string{"a", "a+"}) {
			t.Errorf("%q were asked to go", c.asked)
		}
	}, a)
}

// After a pod that does not become Ready no other is touched, and it is said why.
func TestPodsThatAreNeverReady(t *testing.T) {
	a, b := pod("a", "orders", "s1"), pod("b", "orders", "s1")
	in(t, func(c *cluster) {
		lines := c.ends(c.t.Context(), []replan.PodMove{move(a, "f1"), move(b, "f1")}, NotReady, Left)
		c.says(lines[0], "Not Ready: pod shop/a", "after 1m0s pod a+ was not Ready, 0/2 nodes are available")
		if !slices.Equal(c.asked, []string{"a"}) {
			t.Errorf("%q were asked to go", c.asked)
		}
	}, a, b)
}

// An interrupt ends the moves, and says which were made.
func TestInterrupts(t *testing.T) {
	a, b, last := pod("a", "orders", "s1"), pod("b", "orders", "s1"), pod("c", "orders", "s1")
	moves := []replan.PodMove{move(a, "f1"), move(b, "f1"), move(last, "f1")}
	in(t, func(c *cluster) {
		c.lands["a"] = "f1"
		ctx, cancel := context.WithCancel(c.t.Context())
		c.refuse = func(_ int, e *policyv1.Eviction) error {
			if e.Name == "b" {
				cancel()
			}
			return nil
		}
		lines := c.ends(ctx, moves, Moved, Interrupted, Left)
		c.says(lines[1], "it was evicted, and when this was interrupted")
		synctest.Wait()
		time.Sleep(time.Minute)
	}, a, b, last)
	in(t, func(c *cluster) {
		ctx, cancel := context.WithTimeout(c.t.Context(), 12*time.Second)
		defer cancel()
		c.refuse = func(int, *policyv1.Eviction) error { return blocked() }
		lines := c.ends(ctx, moves, Interrupted, Left, Left)
		c.says(lines[0], "it was not evicted yet")
	}, a, b, last, budget())
}

// A dry run asks the API server, and ends at its answer.
func TestDryRun(t *testing.T) {
	a, b := pod("a", "orders", "s1"), pod("b", "orders", "s1")
	in(t, func(c *cluster) {
		c.DryRun = true
		c.refuse = func(_ int, e *policyv1.Eviction) error {
			switch {
			case !slices.Equal(e.DeleteOptions.DryRun, []string{metav1.DryRunAll}):
				t.Errorf("%+v is no dry run", e)
			case e.Name == "b":
				return blocked()
			}
			return nil
		}
		lines := c.ends(c.t.Context(), []replan.PodMove{move(a, "f1"), move(b, "f1")}, WouldMove, Refused)
		c.says(lines[0], "Would be evicted: pod shop/a of s1, for f1")
	}, a, b, budget())
}

// Who may not evict in one of the namespaces evicts nowhere.
func TestRights(t *testing.T) {
	a := pod("a", "orders", "s1")
	away := pod("b", "orders", "s1")
	away.Namespace = "bank"
	in(t, func(c *cluster) {
		moves := []replan.PodMove{move(a, "f1"), move(away, "f1")}
		if err := c.Allowed(c.t.Context(), moves); err != nil {
			t.Error(err)
		}
		c.forbids = "bank"
		err := c.Allowed(c.t.Context(), moves)
		if err == nil || !strings.Contains(err.Error(), "namespace bank ") {
			t.Error(err)
		}
	}, a, away)
}

// An API server that answers in a way that nobody foresaw ends the moves.
func TestOtherErrors(t *testing.T) {
	a, b := pod("a", "orders", "s1"), pod("b", "orders", "s1")
	in(t, func(c *cluster) {
		c.refuse = func(int, *policyv1.Eviction) error { return fmt.Errorf("no etcd") }
		lines := c.ends(c.t.Context(), []replan.PodMove{move(a, "f1"), move(b, "f1")}, Failed, Left)
		c.says(lines[0], "no etcd")
	}, a, b)
}
