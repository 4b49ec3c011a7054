// Package fleet measures nodes of a cluster, each by a Job, and says what nodes of a kind
// carry and which are slower than others of their kind.
//
// The Job of a node has the node's name, so that the API server keeps two runs from
// measuring a node at once, whoever starts them. All that is known of a run is in its Jobs
// and in a file beside its results: a collector that was killed goes on where it was.
package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"path/filepath"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace is where Jobs of fleets are unless told otherwise.
const Namespace = "plimsoll-fleet"

// Labels and annotations of what a fleet makes in the cluster.
const (
	RunLabel       = "plimsoll.dev/fleet-run"
	NodeAnnotation = "plimsoll.dev/node"
	DoctorLabel    = "plimsoll.dev/fleet-doctor"
	CordonedBy     = "plimsoll.dev/cordoned-by" // of a node: the run that cordoned it
)

// Containers of a Job's pod.
const (
	measures = "measure" // ends when the node was measured
	keeps    = "keep"    // ends when its results were taken
	cleans   = "clean"
	doctors  = "doctor"
)

// PriorityClass is that of pods that measure, which the manifests have: they evict nobody, and are evicted first.
const PriorityClass = "plimsoll-fleet"

// longestKept is how long a node is measured and keeps its results, and then its Job what became of it: seconds.
const longestKept = 7 * 24 * 60 * 60

// experimentDir is where a pod has the experiment's file.
const experimentDir = "/experiment"

// jobName returns the name of a node's Job: it locks the node.
func jobName(node string) string { return nameOf("plimsoll-", node) }

// nameOf returns the name of a Job of a node. Pods are called by it, whose names are labels of DNS: what a node's name
// has otherwise is left out, and a hash of all of it appended.
func nameOf(prefix, node string) string {
	limit := 63 - len(prefix)
	if name := strings.ReplaceAll(node, ".", "-"); name != node || len(name) > limit {
		hash := sha256.Sum256([]byte(node))
		node = strings.TrimRight(name[:min(len(name), limit-17)], "-") + "-" + hex.EncodeToString(hash[:8])
	}
	return prefix + node
}

// pod is what all Jobs of a node have: the node with everything on it that a run touches, and
// no way to the API server.
func (r *Record) pod(node string) corev1.PodSpec {
	return corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		HostPID:       true, // of processes, the node's file systems have all
		HostNetwork:   true, // as a run on the node has it, for databases and fabrics
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{
					Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
				}},
			}}},
		}},
		// What is mounted here ends with the pod, and is not seen outside.
		Volumes: []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/"},
		}}},
		Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		AutomountServiceAccountToken:  new(bool),
		EnableServiceLinks:            new(bool),
		TerminationGracePeriodSeconds: new(int64(300)), // what a run undoes takes its time
	}
}

func (r *Record) container(name string, args ...string) corev1.Container {
	return corev1.Container{
		Name: name, Image: r.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command:                  append([]string{"plimsoll-kubernetes", "node", name, "--run", r.ID}, args...),
		SecurityContext:          &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0))},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: []corev1.VolumeMount{{
			Name: "host", MountPath: "/host",
			// What the node unmounts is unmounted here: volumes of pods that end meanwhile would stay in use.
			MountPropagation: new(corev1.MountPropagationHostToContainer),
		}},
		Env: []corev1.EnvVar{{Name: "PLIMSOLL_NODE", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"},
		}}},
	}
}

func (r *Record) job(node string, spec corev1.PodSpec) *batchv1.Job {
	labels := map[string]string{RunLabel: r.ID, "app": "plimsoll-fleet"}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: jobName(node), Namespace: r.Namespace, Labels: labels, Annotations: map[string]string{NodeAnnotation: node},
		},
		Spec: batchv1.JobSpec{
			// A pod that was killed is followed by one that goes on with its run, once it has undone what it did.
			// One that was in the way of a drain counts for no failure.
			BackoffLimit:         new(int32(4)),
			PodReplacementPolicy: new(batchv1.Failed),
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionIgnore,
				OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{
					Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				}},
			}}},
			// Nothing of it is on the node for ever, whatever becomes of who takes the results.
			ActiveDeadlineSeconds:   new(int64(longestKept)),
			TTLSecondsAfterFinished: new(int32(longestKept)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{NodeAnnotation: node}},
				Spec:       spec,
			},
		},
	}
}

// withExperiment returns a container that is given the experiment, by a volume of the pod where it is a file.
func (r *Record) withExperiment(spec *corev1.PodSpec, name string) corev1.Container {
	spec.PriorityClassName = r.Priority
	if r.File == "" {
		return r.container(name, append([]string{"--", r.Experiment}, r.Args...)...)
	}
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "experiment", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: r.ID}},
	}})
	c := r.container(name, append([]string{"--", filepath.Join(experimentDir, r.File)}, r.Args...)...)
	c.VolumeMounts = append(c.VolumeMounts,
		corev1.VolumeMount{Name: "experiment", MountPath: experimentDir, ReadOnly: true})
	return c
}

// measureJob returns the Job that measures a node, and keeps its results until they were taken.
func (r *Record) measureJob(node string) *batchv1.Job {
	spec := r.pod(node)
	measure := r.withExperiment(&spec, measures)
	// What it uses is in groups of its own, which the scheduler and the kubelet know by this alone.
	requests := corev1.ResourceList{}
	if r.HostCPUs > 0 {
		requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(math.Ceil(1000*r.HostCPUs)), resource.DecimalSI)
	}
	if r.HostMemory > 0 {
		requests[corev1.ResourceMemory] = *resource.NewQuantity(r.HostMemory, resource.BinarySI)
	}
	measure.Resources.Requests = requests
	spec.InitContainers = []corev1.Container{measure}
	spec.Containers = []corev1.Container{r.container(keeps)}
	return r.job(node, spec)
}

// cleanJob returns the Job that cleans a node.
func (r *Record) cleanJob(node string) *batchv1.Job {
	spec := r.pod(node)
	spec.Containers = []corev1.Container{r.container(cleans)}
	return r.job(node, spec)
}

// doctorJob returns the Job that looks whether a node can run the experiment. It locks nothing, as it changes nothing,
// and is no Job of a fleet's run: it goes away by itself.
func (r *Record) doctorJob(node string) *batchv1.Job {
	spec := r.pod(node)
	spec.Containers = []corev1.Container{r.withExperiment(&spec, doctors)}
	j := r.job(node, spec)
	j.Name = nameOf(r.ID+"-", node) // the id is that of no run, and short
	j.Labels = map[string]string{DoctorLabel: r.ID}
	j.Spec.Template.Labels = j.Labels
	j.Spec.BackoffLimit, j.Spec.TTLSecondsAfterFinished = new(int32(0)), new(int32(600))
	j.Spec.ActiveDeadlineSeconds = new(int64(600))
	return j
}
