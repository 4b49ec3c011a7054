package recording

import (
	"regexp"
	"strings"
)

// The letters of random suffixes of Kubernetes: k8s.io/apimachinery/pkg/util/rand leaves out vowels, and digits that
// look like letters.
var (
	ofReplicaSet = regexp.MustCompile(`^(.+)-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
	ofDaemonSet  = regexp.MustCompile(`^(.+)-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
)

// WorkloadOf returns the name of what made a pod: its Deployment, DaemonSet or Job. The pods of a StatefulSet keep
// their names. A suffix without a digit may be a word of the name, and stays unless it has two of them.
func WorkloadOf(pod string) string {
	if m := ofReplicaSet.FindStringSubmatch(pod); m != nil && strings.ContainsAny(pod[len(m[1]):], "2456789") {
		return m[1]
	}
	if m := ofDaemonSet.FindStringSubmatch(pod); m != nil && strings.ContainsAny(pod[len(m[1]):], "2456789") {
		return m[1]
	}
	return pod
}
