package scheduler

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// Who reaches an extender has no pod bound past taints and affinity, unless it was told to bind for whoever asks; nor
// may its account do so.
func TestAttackBindByWhoeverReachesIt(t *testing.T) {
	for _, binds := range []bool{false, true} {
		want := http.StatusNotFound
		if binds {
			want = http.StatusBadRequest
		}
		r := httptest.NewRecorder()
		ask := httptest.NewRequest(http.MethodPost, "/bind", strings.NewReader("["))
		(&Extender{Binds: binds}).Handler().ServeHTTP(r, ask)
		if r.Code != want {
			t.Errorf("binds %t: status %d, not %d", binds, r.Code, want)
		}
	}
	roles, err := os.ReadFile("../manifests/extender/rbac.yaml")
	if err != nil || strings.Contains(string(roles), "binding]") {
		t.Errorf("its account may bind pods: %v", err)
	}
}
