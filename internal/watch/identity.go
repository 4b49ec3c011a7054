package watch

import (
	"cmp"
	"path"
	"regexp"

	"plimsoll/internal/recording"
)

// Managers that make containers of one service again and again.
const (
	compose    = "compose"
	swarm      = "swarm"
	kubernetes = "kubernetes"
)

// serviceOf returns what a container is one of, by its labels or annotations: PROJECT/SERVICE of Compose, the service
// of a swarm, NAMESPACE/WORKLOAD/CONTAINER of Kubernetes; "" if they do not say.
func serviceOf(labels map[string]string) (service, manager string) {
	if project := labels["com.docker.compose.project"]; project != "" {
		return project + "/" + labels["com.docker.compose.service"], compose
	}
	if service := labels["com.docker.swarm.service.name"]; service != "" {
		return service, swarm
	}
	for _, keys := range []struct{ space, pod, container string }{
		{"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.container-name"},
		{"io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name"},
	} {
		if pod := labels[keys.pod]; pod != "" {
			return labels[keys.space] + "/" + recording.WorkloadOf(pod) + "/" + cmp.Or(labels[keys.container], "sandbox"),
				kubernetes
		}
	}
	return "", ""
}

var transientScope = regexp.MustCompile(`^(session-.*|run-.*|.*[0-9a-f]{16,}.*)\.scope$`)

// unitName returns the name of a unit that it has the next time, too: scopes of sessions and of programs that
// systemd-run starts go by the slice that they are in.
func unitName(groupPath string) string {
	name := path.Base(groupPath)
	if transientScope.MatchString(name) {
		return path.Base(path.Dir(groupPath)) + " scopes"
	}
	return name
}
