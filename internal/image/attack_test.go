package image

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"testing"

	"plimsoll/internal/problem"
)

// An image whose server would run as a person of this host is refused; system accounts, whom official images share
// numbers with, and numbers that nobody has are not.
func TestAttackImageNamesAPerson(t *testing.T) {
	host := map[string]string{"999": "dnsmasq", "1000": "ann", "54321": "ben", "65534": "nobody"}
	lookup = func(uid string) (*user.User, error) {
		if name := host[uid]; name != "" {
			return &user.User{Uid: uid, Username: name}, nil
		}
		return nil, user.UnknownUserIdError(0)
	}
	t.Cleanup(func() { lookup = user.LookupId })
	r := &Root{Dir: t.TempDir(), Image: Image{Name: "hostile"}}
	if err := os.Mkdir(filepath.Join(r.Dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for uid, refused := range map[int]bool{999: false, 1000: true, 1001: false, 54321: true, 65534: false} {
		line := fmt.Sprintf("mysql:x:%d:1::/:/bin/sh\n", uid)
		if err := os.WriteFile(filepath.Join(r.Dir, "etc/passwd"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		account, err := r.Account("mysql")
		if (problem.Of(err, problem.Unsupported) != nil) != refused || err == nil && account.UID != uid {
			t.Errorf("user %d: %v, %v", uid, account, err)
		}
	}
}
