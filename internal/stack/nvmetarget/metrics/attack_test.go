package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A hostile target neither sends this host elsewhere, nor has it read without end.
func TestAttackTargetThatAnswersWithoutEnd(t *testing.T) {
	const processor = cpuMetric + "{cpu=\"0\",mode=\"user\"} 1\n"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.Error("it went elsewhere")
		_, _ = w.Write([]byte(processor))
	}))
	defer elsewhere.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"redirects": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
		"too much": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(processor))
			comment := []byte("# " + strings.Repeat("x", 1<<20) + "\n")
			for range mostAnswered>>20 + 1 {
				_, _ = w.Write(comment) // who asked has gone
			}
		},
	} {
		target := httptest.NewServer(answer)
		if answered, err := Read(t.Context(), target.URL); err == nil {
			t.Errorf("%s: it is read: %+v", name, answered)
		}
		target.Close()
	}
}
