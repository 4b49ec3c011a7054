package field

import (
	"regexp"
	"strconv"
)

// SSHHost is a machine that ssh reaches.
type SSHHost struct {
	User string
	Host string // a name, an IPv4 address, or an IPv6 address without brackets
	Port int    // 0 for what ssh takes by itself
}

// sshHost admits nothing that ssh or a shell could take for an option, a command or another host.
var sshHost = regexp.MustCompile(`^ssh://([A-Za-z_][A-Za-z0-9_.-]{0,31})@` +
	`(?:([A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)|\[([0-9A-Fa-f:]{2,39})\])(?::([0-9]{1,5}))?$`)

const mostPort = 1<<16 - 1

// ParseSSHHost parses ssh://USER@HOST or ssh://USER@HOST:PORT. ok is false for any other text.
func ParseSSHHost(text string) (h SSHHost, ok bool) {
	m := sshHost.FindStringSubmatch(text)
	if m == nil {
		return h, false
	}
	h = SSHHost{User: m[1], Host: m[2] + m[3]}
	if m[4] != "" {
		port, err := strconv.Atoi(m[4])
		if err != nil || port < 1 || port > mostPort {
			return SSHHost{}, false
		}
		h.Port = port
	}
	return h, true
}

// SSH is a machine that ssh reaches, as ParseSSHHost reads it.
var SSH = Text("ssh://USER@HOST or ssh://USER@HOST:PORT", "ssh://bench@client1", func(text string) bool {
	_, ok := ParseSSHHost(text)
	return ok
})
