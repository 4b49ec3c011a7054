package main

import (
	"plimsoll/internal/configfs"
	"plimsoll/internal/target"
)

// chooseExports finds what --target names, and the devices behind it.
func (t *traceRecord) chooseExports() error {
	exports := &target.Targets{State: t.state, Configfs: configfs.Root, Host: t.env.Host}
	recorded, err := exports.Recorded(t.exports)
	if err != nil {
		return &exitError{codeOf(err), err}
	}
	t.options.Namespaces = recorded.Name
	t.names = recorded.Titles
	for _, path := range recorded.Devices {
		if d, err := t.env.Host.Locate(path); err == nil { // a file has no requests of its own
			t.numbers = append(t.numbers, d.MajMin)
		}
	}
	return nil
}
