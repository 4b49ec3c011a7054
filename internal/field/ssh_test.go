package field

import "testing"

func TestSSHHosts(t *testing.T) {
	for text, want := range map[string]SSHHost{
		"ssh://bench@client1":            {User: "bench", Host: "client1"},
		"ssh://root@10.0.0.2:2222":       {User: "root", Host: "10.0.0.2", Port: 2222},
		"ssh://a.b-c_d@n1.example.com":   {User: "a.b-c_d", Host: "n1.example.com"},
		"ssh://bench@[fe80::1]:22":       {User: "bench", Host: "fe80::1", Port: 22},
		"ssh://bench@[2001:db8::7:8:9a]": {User: "bench", Host: "2001:db8::7:8:9a"},
	} {
		if got, ok := ParseSSHHost(text); !ok || got != want {
			t.Errorf("%s is %+v, %t", text, got, ok)
		}
	}
}

// Nothing that a file names becomes an option of ssh, a command of a shell, or another host.
func TestAttackSSHHosts(t *testing.T) {
	for _, text := range []string{
		"", "client1", "bench@client1", "ssh://client1", "ssh://@client1", "ssh://bench@", "SSH://bench@client1",
		"-oProxyCommand=id", "ssh://-oProxyCommand=id@client1", "ssh://bench@-oProxyCommand=id",
		"ssh://bench@client1 -oProxyCommand=id", "ssh://bench@client1\n-oProxyCommand=id", "ssh://bench@client1\n",
		"ssh://bench@client1;id", "ssh://bench@$(id)", "ssh://bench@`id`", "ssh://$(id)@client1", "ssh://b ench@client1",
		"ssh://bench@client1/path", "ssh://bench@client1?x", "ssh://bench@client1#x", "ssh://bench:secret@client1",
		"ssh://bench@client1@client2", "ssh://bench@client1:0", "ssh://bench@client1:65536", "ssh://bench@client1:-1",
		"ssh://bench@client1:22x", "ssh://bench@client1:", "ssh://bench@[::1", "ssh://bench@::1", "ssh://bench@[-o]",
		"ssh://bench@client-", "ssh://bench@.client", "ssh://bench@client%n", "ssh://%r@client", "ssh://bench@clïent",
		"ssh://bench@client1\x00", "ssh://bench@~", "ssh://bench@*", "ssh://bench@a,b", "http://bench@client1",
	} {
		if h, ok := ParseSSHHost(text); ok {
			t.Errorf("%q is taken for %+v", text, h)
		}
	}
}
