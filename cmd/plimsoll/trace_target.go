package main

import (
	"plimsoll/internal/host/configfs"
	"plimsoll/internal/stack/nvmetarget"
)

// chooseExports finds what --export names, and the devices behind it.
func (t *traceRecord) chooseExports() error {
	exports := &nvmetarget.Targets{State: t.state, Configfs: configfs.Root, Host: t.env.Host}
	recorded, err := exports.Select(t.exports)
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
