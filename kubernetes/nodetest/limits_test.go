package nodetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/kubetest"
	"plimsoll/kubernetes/limits"
)

// fioPod is a pod that reads a file on a volume of its node for some seconds, under limits.
func fioPod(name, data, limits string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Annotations: map[string]string{
			"plimsoll.dev/limits": limits,
		}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, HostNetwork: true,
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: data},
			}}},
			Containers: []corev1.Container{{
				Name: "fio", Image: "test.invalid/fio:1", ImagePullPolicy: corev1.PullIfNotPresent,
				VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
				Args: []string{"--name=x", "--filename=/data/x", "--rw=randread", "--bs=4k", "--size=64m", "--direct=1",
					"--iodepth=1", "--ioengine=psync", "--time_based", "--runtime=5", "--output-format=json"},
			}},
		},
	}
}

// iops waits for such a pod to end, and returns how many reads a second fio counted.
func (k *cluster) iops(pod string) (iops float64) {
	k.t.Helper()
	pods := k.client.CoreV1().Pods("default")
	until(k.t, "pod "+pod+" has ended", func() error {
		p, err := pods.Get(k.t.Context(), pod, metav1.GetOptions{})
		if err == nil && p.Status.Phase != corev1.PodSucceeded {
			err = fmt.Errorf("%s: %v", p.Status.Phase, p.Status.ContainerStatuses)
		}
		return err
	})
	log, err := pods.GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	var out struct {
		Jobs []struct{ Read struct{ IOPS float64 } }
	}
	_, text, _ := strings.Cut(string(log), "{")
	if err := json.Unmarshal([]byte("{"+text), &out); err != nil || len(out.Jobs) != 1 {
		k.t.Fatalf("%v: %s", err, log)
	}
	return out.Jobs[0].Read.IOPS
}

// A pod on a real node does no more reads a second than its annotation says, one without has
// no limit, and one whose annotation cannot be read does not start, and says why.
func TestLimitsBite(t *testing.T) {
	k := start(t)
	kubetest.Schedule(t, k.config, nil)
	n := k.add(0, "storage", k.image("pause:1", map[string]string{"/pause": filepath.Join(k.bin, "pause")}, "/pause"),
		k.image("fio:1", k.withLibraries("fio"), "/usr/bin/fio"))
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var said bytes.Buffer
	plugin := limits.New(slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), &said), nil)))
	go func() { ended <- plugin.Run(ctx, filepath.Join(n.dir, "nri.sock")) }()
	stop := sync.OnceValue(func() error { end(); return <-ended })
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	pods := k.client.CoreV1().Pods("default")
	for name, limits := range map[string]string{"held": "read-iops: 300", "free": "", "wrong": "read-iops: lots"} {
		if _, err := pods.Create(t.Context(), fioPod(name, t.TempDir(), limits), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	held, free := k.iops("held"), k.iops("free")
	t.Logf("with a limit of 300: %.0f IOPS; without: %.0f", held, free)
	if held > 310 {
		t.Errorf("held to 300: %.0f", held)
	}
	measured := fioPod("measured", t.TempDir(), "read-iops: 300")
	measured.Annotations[iofit.ClassAnnotation] = "reads"
	measured.Annotations[iofit.PredictedAnnotation] = iofit.Prediction{Operations: 300, Least: 250, Reads: 300}.String()
	args := measured.Spec.Containers[0].Args
	args[slices.Index(args, "--runtime=5")] = "--runtime=1d"
	if _, err := pods.Create(t.Context(), measured, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "reads are counted beside what was predicted", func() error {
		w := httptest.NewRecorder()
		plugin.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		var reads float64
		for line := range strings.Lines(w.Body.String()) {
			if strings.HasPrefix(line, "plimsoll_container_reads_total{") && strings.Contains(line, `pod="measured"`) {
				if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &reads); err != nil {
					return err
				}
			}
		}
		if reads < 100 || !strings.Contains(w.Body.String(),
			`plimsoll_pod_predicted_reads{drive="",namespace="default",pod="measured"} 300`) {
			return errors.New(w.Body.String())
		}
		return nil
	})
	if err := pods.Delete(t.Context(), "measured", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	until(t, "the pod whose limits cannot be read says so", func() error {
		events, err := k.client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{
			FieldSelector: "involvedObject.name=wrong",
		})
		if err != nil {
			return err
		}
		var all []string
		for _, e := range events.Items {
			if strings.Contains(e.Message, "plimsoll.dev/limits") && strings.Contains(e.Message, "lots") {
				return nil
			}
			all = append(all, e.Message)
		}
		return errors.New(strings.Join(all, "; "))
	})
	_ = stop() // so that it says no more
	if log := said.String(); !strings.Contains(log, "pod default/held") || strings.Contains(log, "default/free") {
		t.Errorf("limits that the kernel holds: %s", log)
	}
}
