package observe_test

import (
	"fmt"
	"os"
	"time"

	"plimsoll/internal/host/blockdev"
	"plimsoll/internal/host/hostfs"
	"plimsoll/internal/observe"
)

func ExampleStart() {
	roots := hostfs.Default()
	devices, err := blockdev.Chain(roots, ".")
	if err != nil {
		fmt.Println(err)
		return
	}
	group, err := observe.GroupOf(roots, os.Getpid()) // of the instance's first process
	if err != nil {
		fmt.Println(err)
		return
	}
	subject := observe.Subject{
		Instances: []observe.Instance{{Index: 0, Group: group}},
		Devices:   devices,
		Host:      true,
	}
	recorder, err := observe.Start(subject, roots, observe.Every)
	if err != nil {
		fmt.Println(err)
		return
	}
	time.Sleep(10 * time.Second) // the trial
	for _, s := range recorder.Stop() {
		fmt.Println(s.Source, s.Instance, s.Metric, s.Unit, len(s.Values))
	}
}
