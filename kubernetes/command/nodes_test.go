package command

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"

	"plimsoll/internal/report"
	"plimsoll/internal/testkit/modeltest"
	"plimsoll/kubernetes/iofit"
	"plimsoll/kubernetes/replan"
)

// Each drive of a node shows what those on it leave free, and nodes of which nobody knows anything say so.
func TestHeadroom(t *testing.T) {
	var file, out bytes.Buffer
	if err := modeltest.ThreeClasses().Write(&file); err != nil {
		t.Fatal(err)
	}
	m, err := iofit.ConfigMap("two", file.Bytes(), "{cpus: 8, memory: 32GiB, drives: {nvme: fast, sata: slow}}", "")
	if err != nil {
		t.Fatal(err)
	}
	kind, err := iofit.ParseKind(m)
	if err != nil {
		t.Fatal(err)
	}
	core := informers.NewSharedInformerFactory(nil, 0)
	state := &replan.State{Claims: iofit.Claims{Claims: core.Core().V1().PersistentVolumeClaims().Lister(),
		Volumes: core.Core().V1().PersistentVolumes().Lister(), Classes: core.Storage().V1().StorageClasses().Lister()}}
	for name, of := range map[string]string{"busy": "two", "idle": "two", "small": "two", "other": "unknown"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{iofit.KindLabel: of}}}
		if name == "small" {
			n.Status.Allocatable = corev1.ResourceList{"memory": resource.MustParse("2Mi")}
		}
		state.Nodes = append(state.Nodes, n)
	}
	for _, on := range append(slices.Repeat([]string{"small"}, 200), "busy", "busy", "busy", "busy", "busy", "busy") {
		state.Pods = append(state.Pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			iofit.ClassAnnotation: "writes", iofit.DriveAnnotation: "sata"}}, Spec: corev1.PodSpec{NodeName: on}})
	}
	a := headroom(state, map[string]*iofit.Kind{"two": kind})
	if err := report.AnswerText(&out, a, false, report.TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, r := range a.Sections[0].Tables[0].Rows {
		key := r.Cells[0].Text
		if len(r.Cells) > 5 {
			key += " " + r.Cells[5].Text + " " + r.Cells[6].Text + " " + r.Cells[7].Text
		}
		rows[key] = r.Cells[2].Text
	}
	for _, want := range []string{"busy nvme 100% not held", "idle nvme 100% not held", "idle sata 100% not held",
		"other -  there is no model of its kind"} {
		if _, is := rows[want]; !is {
			t.Errorf("%q is none of %v:\n%s", want, rows, out.String())
		}
	}
	if !strings.Contains(a.Verdict, "4 nodes; for 2 of them it is not known") {
		t.Error(a.Verdict)
	}
	for row := range rows {
		if strings.HasPrefix(row, "busy sata") && strings.Contains(row, "100%") {
			t.Errorf("six writers leave all free: %s", row)
		}
	}
}
