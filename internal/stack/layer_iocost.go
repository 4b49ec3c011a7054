package stack

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"plimsoll/internal/field"
	"plimsoll/internal/host/cgroup"
	"plimsoll/internal/host/iocost"
	"plimsoll/internal/problem"
	"plimsoll/internal/stack/line"
)

// costModel switches io.cost on for the block device below, for as long as the stack is up: with it, instances share
// the device by their weights (Documentation/admin-guide/cgroup-v2.rst).
var costModel = &layer{
	Def: line.Def{
		Name: "iocost", Summary: "share the block device below by weights, with io.cost of cgroups of version 2",
		Below: line.Block, Gives: line.Block,
		Options: []line.OptionDef{
			{Key: "rbps", Value: line.Size, Summary: "bytes that the device reads in a second"},
			{Key: "rseqiops", Value: line.Number, Summary: "sequential reads of 4 KiB in a second", Check: wholeNumber},
			{Key: "rrandiops", Value: line.Number, Summary: "random reads of 4 KiB in a second", Check: wholeNumber},
			{Key: "wbps", Value: line.Size, Summary: "bytes that it writes in a second"},
			{Key: "wseqiops", Value: line.Number, Summary: "sequential writes of 4 KiB in a second", Check: wholeNumber},
			{Key: "wrandiops", Value: line.Number, Summary: "random writes of 4 KiB in a second", Check: wholeNumber},
			{Key: "rpct", Value: line.Number, Summary: "percentile of reads that has to be within rlat", Check: percent(100)},
			{Key: "rlat", Value: line.Number, Summary: "its latency, in microseconds", Check: wholeNumber},
			{Key: "wpct", Value: line.Number, Summary: "percentile of writes that has to be within wlat", Check: percent(100)},
			{Key: "wlat", Value: line.Number, Summary: "its latency, in microseconds", Check: wholeNumber},
			{Key: "min", Value: line.Number, Summary: "least part of the model's speed, in percent", Check: percent(10000)},
			{Key: "max", Value: line.Number, Summary: "greatest part of the model's speed, in percent", Check: percent(10000)},
		},
	},
	plan: func(line.Node) []string { return []string{"switch io.cost on for it"} },
	writes: func(s *dryRun, _ line.Node) {
		s.makes("/sys/fs/cgroup/" + iocost.ModelFile)
		s.makes("/sys/fs/cgroup/" + iocost.QoSFile)
	},
	checkOn: func(e *Env, nodesBelow []line.Node, n line.Node) error {
		if _, err := e.queueBelow(nodesBelow, n); err != nil {
			return err
		}
		if _, _, err := costSettings(n); err != nil {
			return err
		}
		_, err := e.costDir(n)
		return err
	},
	up: func(ctx context.Context, b *build, n line.Node) error {
		dir, err := b.env.costDir(n)
		if err != nil {
			return err
		}
		model, qos, err := costSettings(n)
		if err != nil {
			return err
		}
		number, err := os.ReadFile(b.env.Host.Roots.InSys("block", b.queue(), "dev"))
		if err != nil {
			return err
		}
		device := strings.TrimSpace(string(number))
		for _, c := range []*cgroup.Cost{
			{Path: dir + "/" + iocost.ModelFile, Device: device, Settings: model},
			{Path: dir + "/" + iocost.QoSFile, Device: device, Settings: qos},
		} {
			if err := b.do(ctx, c, func(string) error { return c.Make() }); err != nil {
				return fmt.Errorf("switch io.cost on for %s: %w", b.base.block, err)
			}
		}
		b.fact("io.cost", fmt.Sprintf("%s; %s", model, qos))
		return nil
	},
}

// wholeNumber returns the problem with a value that is no number from 1.
func wholeNumber(value string) problem.List { return numberProblem(field.Whole(1, 1<<40), value) }

// numberCheck returns what checks a whole number within bounds.
func numberCheck(least, most int64) func(value string) problem.List {
	return func(value string) problem.List { return numberProblem(field.Whole(least, most), value) }
}

// percent returns what checks a value in percent, which the kernel holds with two digits behind the point.
func percent(most float64) func(value string) problem.List {
	return func(value string) problem.List { return numberProblem(field.Number(0, most), value) }
}

func numberProblem[T any](kind field.Kind[T], value string) (problems problem.List) {
	if _, err := kind.Parse(value); err != nil {
		problems = append(problems, problem.Problem{What: fmt.Sprintf("it takes %s, not %q", kind.Takes, value),
			Remedy: "write " + kind.Example})
	}
	return problems
}

// costDir returns the directory with the files of io.cost.
func (e *Env) costDir(n line.Node) (string, error) {
	dir, err := cgroup.CostDir(e.Host.Roots)
	if err != nil {
		return "", problem.New(problem.Unsupported, n.Name, err.Error(), "leave it out of the stack, or take another host")
	}
	return dir, nil
}

// costSettings returns what is written to the files of io.cost.
func costSettings(n line.Node) (model, qos string, err error) {
	values, err := costValues(n, iocost.ModelKeys)
	if err == nil && len(values) > 0 && len(values) < len(iocost.ModelKeys) {
		var missing []string
		for _, k := range iocost.ModelKeys {
			if values[k.Key] == "" {
				missing = append(missing, k.Key)
			}
		}
		err = problem.New(problem.Unsupported, n.String(), "a model needs all six of its values: without one of them the "+
			"kernel keeps that of an earlier model",
			"write "+strings.Join(missing, ", ")+" too, or none of them for what the kernel guesses")
	}
	if err != nil {
		return "", "", err
	}
	far, err := costValues(n, iocost.QoSKeys)
	return iocost.Model(values), iocost.QoS(far), err
}

// costValues returns the values of options as the kernel takes them.
func costValues(n line.Node, keys []iocost.Setting) (map[string]string, error) {
	values := map[string]string{}
	for _, k := range keys {
		text, ok := n.Option(k.Key)
		if !ok {
			continue
		}
		var number float64
		var err error
		if strings.HasSuffix(k.Key, "bps") {
			number, err = field.As[float64](field.Bytes).Parse(text)
		} else {
			number, err = field.Number(0, math.MaxInt64).Parse(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", k.Key, n.Name, err)
		}
		values[k.Key] = strconv.FormatFloat(math.Round(100*number)/100, 'f', -1, 64)
	}
	return values, nil
}
