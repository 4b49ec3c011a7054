// Package evict makes the moves of a plan of a cluster by the Eviction API, so that PodDisruptionBudgets hold. It
// evicts a pod, waits until the pod that its controller makes instead is Ready, and says on which node that landed.
package evict

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"

	"plimsoll/internal/units/plural"
	"plimsoll/kubernetes/replan"
)

// Evictor makes moves in a cluster.
type Evictor struct {
	Client  kubernetes.Interface
	Pods    listersv1.PodLister // as they are now
	Budgets policylisters.PodDisruptionBudgetLister

	AtOnce int           // pods that move at the same time, never two of one controller; 1 with 0
	Retry  time.Duration // how long an eviction is tried again that a budget refuses
	Ready  time.Duration // how long a new pod may take until it is Ready
	DryRun bool          // the API server answers as it would, and evicts nothing
	Say    func(Outcome) // is told of each move when it ends
}

// Verdict is how a move ended.
type Verdict string

// Verdicts of moves.
const (
	Moved       Verdict = "Moved"
	WouldMove   Verdict = "Would be evicted"      // by the API server's dry run
	OtherNode   Verdict = "Moved to another node" // the scheduler chose another node than the plan
	NotReady    Verdict = "Not Ready"             // it was evicted, and no new pod was Ready in time
	Refused     Verdict = "Refused"               // by its PodDisruptionBudget
	Left        Verdict = "Left"                  // it was not asked to be evicted
	Changed     Verdict = "Changed"               // the pod that the plan saw is gone
	Failed      Verdict = "Failed"                // the API server refused it for another reason
	Interrupted Verdict = "Interrupted"
)

// Outcome is a move and how it ended.
type Outcome struct {
	replan.PodMove

	Verdict Verdict
	New     *corev1.Pod // that its controller made instead; nil for none
	Took    time.Duration
	Why     string // "" for what needs no reason
}

// String returns the outcome as a line, its verdict first.
func (o Outcome) String() string {
	name := "pod " + name(o.Pod)
	switch o.Verdict {
	case Moved:
		return fmt.Sprintf("%s: %s from %s to %s: %s is Ready after %s", o.Verdict, name, o.From, o.To, o.New.Name,
			o.Took.Round(100*time.Millisecond))
	case OtherNode:
		return fmt.Sprintf("%s: %s from %s to %s, and not to %s as planned: %s is Ready after %s%s", o.Verdict, name,
			o.From, o.New.Spec.NodeName, o.To, o.New.Name, o.Took.Round(100*time.Millisecond), o.Why)
	case WouldMove:
		return fmt.Sprintf("%s: %s of %s, for %s", o.Verdict, name, o.From, o.To)
	}
	return fmt.Sprintf("%s: %s, from %s to %s: %s", o.Verdict, name, o.From, o.To, o.Why)
}

func name(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

const (
	tryEvery  = 5 * time.Second        // an eviction that a budget refuses
	lookEvery = 500 * time.Millisecond // at the pods that the lister has
	answerIn  = 30 * time.Second       // of the API server, to one eviction
)

// Allowed returns an error where this user may not evict pods in all namespaces of the moves.
func (e *Evictor) Allowed(ctx context.Context, moves []replan.PodMove) error {
	var asked, not []string
	for _, m := range moves {
		in := m.Pod.Namespace
		if slices.Contains(asked, in) {
			continue
		}
		asked = append(asked, in)
		got, err := e.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
			&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: in, Verb: "create", Resource: "pods",
					Subresource: "eviction"}}}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("ask whether pods of namespace %s may be evicted: %w", in, err)
		}
		if !got.Status.Allowed {
			not = append(not, in)
		}
	}
	if len(not) > 0 {
		return fmt.Errorf("nothing was evicted: you may not evict pods in %s %s (the verb create on pods/eviction "+
			"allows it)", plural.Of(len(not), "namespace"), plural.And(not))
	}
	return nil
}

// run is what is known while moves are made.
type run struct {
	*Evictor

	moves    []replan.PodMove
	now      map[*corev1.Pod]*corev1.Pod // pods that were made instead of those that the plan saw
	full     map[string]string           // nodes that a pod was to leave and did not, and its name
	outcomes []Outcome
	stop     string // why no other move begins
}

// finished is a move that ended, by its number.
type finished struct {
	i int
	Outcome
}

// Run makes the moves, in their order, and returns how each ended. It stops when a move leaves the cluster unlike what
// the plan is of. When the context ends, no other move begins.
func (e *Evictor) Run(ctx context.Context, moves []replan.PodMove) []Outcome {
	r := &run{Evictor: e, moves: slices.Clone(moves), now: map[*corev1.Pod]*corev1.Pod{}, full: map[string]string{}}
	ends, moving := make(chan finished), map[int]bool{}
	for i := 0; ; {
		for i < len(moves) && len(moving) < max(1, e.AtOnce) && !r.waits(i, moving) {
			m := r.moves[i]
			if why := r.leave(ctx, m); why != "" {
				r.end(Outcome{PodMove: m, Verdict: Left, Why: why})
			} else {
				n, p := i, r.pod(m)
				moving[n] = true
				go func() { ends <- finished{n, e.move(ctx, m, p)} }()
			}
			i++
		}
		if len(moving) == 0 {
			return r.outcomes
		}
		f := <-ends
		delete(moving, f.i)
		if f.Verdict == OtherNode {
			f.Why = r.exchange(f.Outcome, i)
		}
		r.end(f.Outcome)
	}
}

// waits reports whether a move is not to begin before one that is being made: they are of one controller.
func (r *run) waits(i int, moving map[int]bool) bool {
	for j := range moving {
		if replan.SameOwner(r.moves[i].Pod, r.moves[j].Pod) {
			return true
		}
	}
	return false
}

// pod returns the pod that a move is of, as it is now: an earlier move may have made another.
func (r *run) pod(m replan.PodMove) *corev1.Pod {
	if p := r.now[m.Pod]; p != nil {
		return p
	}
	return m.Pod
}

// leave returns why a move is not tried; "" where it is.
func (r *run) leave(ctx context.Context, m replan.PodMove) string {
	switch p := r.pod(m); {
	case ctx.Err() != nil:
		return "it was not begun when this was interrupted"
	case r.stop != "":
		return r.stop
	case replan.NotEvicted(p) != "":
		return replan.NotEvicted(p)
	case m.Breaks != "":
		return "a limit would break on the way: " + m.Breaks
	case p.Spec.NodeName != m.From:
		return fmt.Sprintf("it is on %s until an earlier move is made", p.Spec.NodeName)
	case r.full[m.To] != "":
		return fmt.Sprintf("it needs the room on %s of pod %s, which did not leave", m.To, r.full[m.To])
	}
	return ""
}

// exchange has a later move of an equal pod go where the pod of an outcome was to go, if it was to go where that
// landed. Where none was, no other move begins. It returns what is to be said of it.
func (r *run) exchange(o Outcome, next int) string {
	for i := next; i < len(r.moves); i++ {
		if m := &r.moves[i]; m.Containers == o.Containers && m.To == o.New.Spec.NodeName && m.From != o.To {
			m.To = o.To
			return fmt.Sprintf("; pod %s, which was to go there, goes to %s", name(m.Pod), o.To)
		}
	}
	r.stop = fmt.Sprintf("pod %s is not where the plan has it: plan again", name(o.Pod))
	return ""
}

// end notes how a move ended, and what that means for later ones.
func (r *run) end(o Outcome) {
	switch o.Verdict {
	case Moved, OtherNode:
		r.now[o.Pod] = o.New
	case NotReady, Failed:
		r.stop = fmt.Sprintf("pod %s did not move: plan again when it is Ready", name(o.Pod))
	case Refused, Left, Changed:
		r.full[o.From] = name(o.Pod)
	}
	r.outcomes = append(r.outcomes, o)
	if r.Say != nil {
		r.Say(o)
	}
}

// move evicts a pod, and waits for the one that is made instead.
func (e *Evictor) move(ctx context.Context, m replan.PodMove, p *corev1.Pod) Outcome {
	begun, o := time.Now(), Outcome{PodMove: m}
	before, err := e.Client.CoreV1().Pods(p.Namespace).List(ctx, metav1.ListOptions{})
	switch {
	case ctx.Err() != nil:
		o.Verdict, o.Why = Interrupted, "it was not evicted yet"
		return o
	case err != nil:
		o.Verdict, o.Why = Failed, err.Error()
		return o
	}
	known, marked := map[types.UID]bool{}, ""
	for i := range before.Items {
		known[before.Items[i].UID] = true
		if before.Items[i].UID == p.UID {
			marked = replan.NotEvicted(&before.Items[i])
		}
	}
	if marked != "" { // since the plan was made
		o.Verdict, o.Why = Left, marked
		return o
	}
	if !known[p.UID] {
		o.Verdict, o.Why = Changed, "it is gone since the plan was made"
		return o
	}
	o.Verdict, o.Why = e.evict(ctx, p)
	if o.Verdict != Moved {
		return o
	}
	o.New, o.Why = e.await(ctx, p, known)
	o.Took = time.Since(begun)
	switch {
	case o.Why != "" && ctx.Err() != nil:
		o.Verdict, o.Why = Interrupted, "it was evicted, and when this was interrupted "+o.Why
	case o.Why != "":
		o.Verdict, o.Why = NotReady, fmt.Sprintf("it was evicted, and after %s %s", e.Ready, o.Why)
	case o.New.Spec.NodeName != m.To:
		o.Verdict = OtherNode
	}
	return o
}

// evict asks the API server to evict a pod, again and again while its budget refuses it. Moved is that it was.
func (e *Evictor) evict(ctx context.Context, p *corev1.Pod) (Verdict, string) {
	asked := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}}}
	if e.DryRun {
		asked.DeleteOptions.DryRun = []string{metav1.DryRunAll}
	}
	end := time.Now().Add(e.Retry)
	for {
		// The answer is awaited even when this is interrupted: whether the pod was evicted is to be known.
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerIn)
		err := e.Client.CoreV1().Pods(p.Namespace).EvictV1(once, asked)
		cancel()
		switch {
		case err == nil && e.DryRun:
			return WouldMove, ""
		case err == nil:
			return Moved, ""
		case apierrors.IsNotFound(err):
			return Changed, "it is gone since the plan was made"
		case apierrors.IsConflict(err):
			return Changed, "it is not the pod that the plan saw: " + err.Error()
		case !apierrors.IsTooManyRequests(err) && !apierrors.IsTimeout(err):
			return Failed, err.Error()
		}
		if e.DryRun || !time.Now().Add(tryEvery).Before(end) {
			return Refused, e.budget(p, err)
		}
		select {
		case <-ctx.Done():
			return Interrupted, "it was not evicted yet: " + e.budget(p, err)
		case <-time.After(tryEvery):
		}
	}
}

// budget returns what refused an eviction: the names of the pod's budgets, and what the API server says of them.
func (e *Evictor) budget(p *corev1.Pod, refused error) string {
	message := refused.Error()
	var status apierrors.APIStatus
	if !errors.As(refused, &status) || status.Status().Details == nil {
		return message
	}
	for _, c := range status.Status().Details.Causes {
		if c.Type != policyv1.DisruptionBudgetCause {
			continue
		}
		var names []string
		budgets, _ := e.Budgets.GetPodPodDisruptionBudgets(p) // the error is that there are none
		for _, b := range budgets {
			names = append(names, b.Name)
		}
		if len(names) == 0 {
			return c.Message
		}
		return fmt.Sprintf("PodDisruptionBudget %s allows no eviction now: %s", plural.And(names), c.Message)
	}
	return message
}

// await waits until an evicted pod is gone and the one that its controller made instead is Ready. It returns that one,
// if there is any, and what it still waits for when the time is up.
func (e *Evictor) await(ctx context.Context, old *corev1.Pod, known map[types.UID]bool) (*corev1.Pod, string) {
	ctx, cancel := context.WithTimeout(ctx, e.Ready)
	defer cancel()
	for {
		pods, err := e.Pods.Pods(old.Namespace).List(labels.Everything())
		if err != nil {
			return nil, err.Error()
		}
		var made *corev1.Pod
		gone := true
		for _, p := range pods {
			switch {
			case p.UID == old.UID:
				gone = p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
			case !known[p.UID] && p.DeletionTimestamp == nil && replan.SameOwner(p, old) && (made == nil || ready(p)):
				made = p
			}
		}
		why := ""
		switch {
		case !gone:
			why = "it was still ending"
		case made == nil:
			why = "its controller had made no other pod"
		case !ready(made):
			why = "pod " + made.Name + " was not Ready" + reason(made)
		default:
			return made, ""
		}
		select {
		case <-ctx.Done():
			return made, why
		case <-time.After(lookEvery):
		}
	}
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// reason returns what a pod says of why it is not Ready, and where it is.
func reason(p *corev1.Pod) string {
	var reasons []string
	if p.Spec.NodeName != "" {
		reasons = append(reasons, "on "+p.Spec.NodeName)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			reasons = append(reasons, c.Message)
		}
	}
	for i := range p.Status.ContainerStatuses {
		if w := p.Status.ContainerStatuses[i].State.Waiting; w != nil {
			reasons = append(reasons, strings.TrimSpace(w.Reason+" "+w.Message))
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	return ", " + strings.Join(reasons, ", ")
}
