package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"plimsoll/internal/model"
	"plimsoll/internal/placement"
	"plimsoll/internal/placement/advise"
	"plimsoll/internal/state/inputfile"
)

// adviseFlags are the flags of advise.
type adviseFlags struct{ form, mix, host, device string }

func newAdviseLimitsCommand(a *app) *cobra.Command {
	var flags adviseFlags
	cmd := &cobra.Command{
		Use:   "limits --as FORM FILE",
		Short: "Print limits for containers as lines to paste, with what they cost",
		Long: `Print limits for containers as lines to paste, each with what it costs. FORM is
  docker      command lines of docker run
  compose     services of a Compose file
  systemd     files of settings for units
  kubernetes  annotations and limits of pods: docs/reference/kubernetes.md
  io.cost     weights of cgroups, and what the drive does

FILE is a run, a model or a plan:
  a run    the limits that its instances had of their own, with what they cost beside
           instances without
  a model  for each class of --mix, half as much again as what an instance is predicted
           to take beside the others, with what all would do under these limits
  a plan   the limits that its fleet gives; where it gives none, half as much again as
           what the container is predicted to take where it stands

Nothing is set. "plimsoll watch" shows which limits are in force.

EXIT STATUS
  0  printed
  1  the file cannot be read, or says nothing of limits
  2  the command line is wrong, or there is no such file`,
		Example: `  plimsoll advise limits --as docker model.json --mix 'C: 4' --device /dev/nvme0n1
  plimsoll advise limits --as kubernetes plan.json
  plimsoll advise limits --as systemd plimsoll-runs/policies-20260514 --device /dev/nvme0n1`,
		Args:              exactly(1, "a run, or the file of a model or plan"),
		RunE:              func(_ *cobra.Command, args []string) error { return flags.advise(a, args[0]) },
		ValidArgsFunction: completeFiles,
	}
	f := cmd.Flags()
	f.StringVar(&flags.form, "as", "", "`form`: "+strings.Join(advise.Forms(), ", "))
	f.StringVar(&flags.mix, "mix", "", "`classes` of a model, and how many instances of each: 'C: 4, A: 2' (default: one "+
		"of each)")
	f.StringVar(&flags.host, "host-file", "", "`file` of what the host has, for a model")
	f.StringVar(&flags.device, "device", "", "`path` of the drive that limits on devices are for")
	completeFlag(cmd, "as", completeWords(advise.Forms()...))
	return cmd
}

func (f *adviseFlags) advise(a *app, name string) error {
	if f.form == "" {
		return &exitError{exitUsage, fmt.Errorf("advise limits takes --as, one of %s", strings.Join(advise.Forms(), ", "))}
	}
	advices, m, err := f.read(a, name)
	if err != nil {
		return err
	}
	device, err := f.namedDevice()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if m != nil && len(m.Drives) > 0 {
		device.Is = &m.Drives[0]
	}
	err = advise.Write(a.data(), f.form, advices, device)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return nil
}

// namedDevice returns the device that the command line names.
func (f *adviseFlags) namedDevice() (d advise.Device, err error) {
	d.Path = f.device
	if f.device == "" {
		return d, nil
	}
	if !filepath.IsAbs(f.device) {
		return d, fmt.Errorf("--device %s: it takes a path, such as /dev/nvme0n1", f.device)
	}
	var st unix.Stat_t
	err = unix.Stat(f.device, &st)
	switch {
	case err == nil && st.Mode&unix.S_IFMT == unix.S_IFBLK:
		d.MajMin = fmt.Sprintf("%d:%d", unix.Major(st.Rdev), unix.Minor(st.Rdev))
	case f.form == "io.cost":
		return d, fmt.Errorf("--device %s: io.cost takes its number, and this host has no such block device", f.device)
	}
	return d, nil // it may be another host's
}

// read returns the advice of a run, a model or a plan, and the model of the latter two.
func (f *adviseFlags) read(a *app, name string) ([]advise.Advice, *model.Model, error) {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		_, run, err := a.readRun([]string{name})
		if err != nil {
			return nil, nil, err
		}
		if f.mix != "" || f.host != "" {
			return nil, nil, &exitError{exitUsage, errors.New("--mix and --host-file are for a model")}
		}
		advices, err := advise.OfRun(run)
		if err != nil {
			return nil, nil, &exitError{exitFailure, fmt.Errorf("%s: %w", name, err)}
		}
		return advices, nil, nil
	}
	text, err := inputfile.Read(name, mostModel)
	if err != nil {
		return nil, nil, &exitError{exitUsage, err}
	}
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(text, &head); err == nil && head.Kind == "plimsoll plan" {
		return f.ofPlan(name, text)
	}
	m, err := model.Read(text)
	if err != nil {
		return nil, nil, &exitError{exitUsage, fmt.Errorf("%s is no model, plan or run: %w", name, err)}
	}
	ask, err := f.ask(m)
	if err != nil {
		return nil, nil, &exitError{exitUsage, err}
	}
	advices, err := advise.OfModel(m, ask)
	if err != nil {
		return nil, nil, &exitError{exitFailure, err}
	}
	return advices, m, nil
}

// ask returns what a model is asked about.
func (f *adviseFlags) ask(m *model.Model) (ask model.Ask, err error) {
	if f.mix == "" {
		for i := range m.Classes {
			ask.Tenants = append(ask.Tenants, model.Tenant{Class: m.Classes[i].Name, Count: 1, Think: -1})
		}
	} else {
		ask.Tenants, err = m.ParseMix(f.mix)
	}
	if err == nil && len(ask.Tenants) == 0 {
		err = errors.New("the model knows no class")
	}
	if err != nil {
		return ask, err
	}
	class, err := m.Find(ask.Tenants[0].Class)
	if err != nil {
		return ask, err
	}
	kind := m.HostOf(class)
	if f.host != "" {
		text, err := inputfile.Read(f.host, inputfile.MaxText)
		if err != nil {
			return ask, err
		}
		kind, err = m.ParseHost(kind, f.host, text)
		if err != nil {
			return ask, err
		}
	}
	ask.Host, ask.Drives = kind.Host, kind.Drives
	return ask, nil
}

// ofPlan returns the advice of a plan's file, by the model that it names.
func (f *adviseFlags) ofPlan(name string, text []byte) ([]advise.Advice, *model.Model, error) {
	if f.mix != "" || f.host != "" {
		return nil, nil, &exitError{exitUsage, errors.New("--mix and --host-file are for a model")}
	}
	var d placement.Document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, nil, &exitError{exitFailure, fmt.Errorf("%s: %w", name, err)}
	}
	beside := d.Model.Name
	if !filepath.IsAbs(beside) {
		if _, err := os.Stat(beside); err != nil {
			beside = filepath.Join(filepath.Dir(name), beside)
		}
	}
	m, err := readModel(beside)
	if err != nil {
		return nil, nil, fmt.Errorf("the model of %s: %w", name, err)
	}
	fleet, m, err := placement.Parse(name, []byte(d.Fleet.Text), func(string) (*model.Model, error) { return m, nil })
	if err != nil {
		return nil, nil, &exitError{exitFailure, fmt.Errorf("the fleet in %s: %w", name, err)}
	}
	advices, err := advise.OfPlan(d, fleet, m)
	if err != nil {
		return nil, nil, &exitError{exitFailure, fmt.Errorf("%s: %w", name, err)}
	}
	return advices, m, nil
}
