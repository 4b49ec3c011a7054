package watch

import "testing"

func TestServicesAreNamed(t *testing.T) {
	cri := func(pod string) map[string]string {
		return map[string]string{"io.kubernetes.cri.sandbox-namespace": "shop", "io.kubernetes.cri.sandbox-name": pod,
			"io.kubernetes.cri.container-name": "db"}
	}
	for _, c := range []struct {
		labels  map[string]string
		service string
		manager string
	}{
		{map[string]string{"com.docker.compose.project": "shop", "com.docker.compose.service": "db"}, "shop/db", compose},
		{map[string]string{"com.docker.swarm.service.name": "shop_db"}, "shop_db", swarm},
		{cri("mysql-0"), "shop/mysql-0/db", kubernetes},
		{cri("web-7d4b9c6f8-x2z5k"), "shop/web/db", kubernetes},
		{cri("agent-x2z5k"), "shop/agent/db", kubernetes},
		{cri("my-proxy-mysql"), "shop/my-proxy-mysql/db", kubernetes}, // no suffix: it has no digit
		{map[string]string{"maintainer": "x"}, "", ""},
	} {
		if service, manager := serviceOf(c.labels); service != c.service || manager != c.manager {
			t.Errorf("%v is %q of %q, want %q of %q", c.labels, service, manager, c.service, c.manager)
		}
	}
	for path, want := range map[string]string{
		"/system.slice/ssh.service":                      "ssh.service",
		"/user.slice/user-1000.slice/session-12.scope":   "user-1000.slice scopes",
		"/system.slice/run-r0123456789abcdef0123.scope":  "system.slice scopes",
		"/machine.slice/machine-db.scope":                "machine-db.scope",
		"/user.slice/user-1000.slice/user@1000.service/": "user@1000.service",
	} {
		if got := unitName(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}
