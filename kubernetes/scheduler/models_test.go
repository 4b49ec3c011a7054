package scheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"plimsoll/kubernetes/iofit"
)

// An API server that fails in one way, and then in others, ends no scheduler: what goes wrong is said, and models are
// read once it answers. What a new list shows again changes nothing.
func TestModelsOfAServerThatFails(t *testing.T) {
	m := modelOf(t, "big", big)
	m.Namespace, m.UID, m.ResourceVersion = iofit.Namespace, "1", "1"
	list, err := json.Marshal(corev1.ConfigMapList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.ConfigMap{*m}})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(status int, text []byte) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(bytes.NewReader(text))}, nil
	}
	var works atomic.Bool
	var lists atomic.Int32
	server := roundTrip(func(r *http.Request) (*http.Response, error) {
		watches := r.URL.Query().Get("watch") != ""
		switch {
		case !works.Load():
			return nil, errors.New("no route to host") // of each list
		case watches:
			return answer(http.StatusForbidden, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure",`+
				`"reason":"Forbidden","message":"no watch","code":403}`))
		}
		lists.Add(1)
		return answer(http.StatusOK, list)
	})
	client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://none.invalid", Transport: server})
	k, err := watchKinds(t.Context(), client, iofit.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	changes := 0
	err = k.wait(t.Context(), func() { changes++ })
	if err == nil || !strings.Contains(err.Error(), "no route to host") || !strings.Contains(err.Error(), "Role") {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{iofit.KindLabel: "big"}}}
	d, err := iofit.DemandOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{iofit.ClassAnnotation: "reads"}}})
	if err != nil {
		t.Fatal(err)
	}
	empty := func(*iofit.Kind) iofit.Standing { return iofit.Standing{} }
	if v := k.judge(node, empty, demand{Demand: d}); !strings.Contains(v.Unknown, "no route to host") {
		t.Errorf("%+v", v)
	}
	works.Store(true)
	waitFor := func(what string, is func() bool) {
		for end := time.Now().Add(5 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not after five minutes: %s", what)
			}
		}
	}
	waitFor("it was listed again, after a watch was refused", func() bool { return lists.Load() >= 3 })
	if v := k.judge(node, empty, demand{Demand: d}); v.Unknown != "" {
		t.Errorf("%+v", v)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if changes != 1 {
		t.Errorf("one model is %d changes", changes)
	}
}
