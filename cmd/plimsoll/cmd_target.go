package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/field"
	"plimsoll/internal/host/configfs"
	"plimsoll/internal/host/hostinfo"
	"plimsoll/internal/host/nvme"
	"plimsoll/internal/stack"
	"plimsoll/internal/stack/nvmetarget"

	"plimsoll/internal/printable"
)

func newTargetCommand(a *app) *cobra.Command {
	t := &nvmetarget.Targets{Host: hostinfo.New()}
	cmd := &cobra.Command{
		Use:   "target",
		Short: "Export a block device over NVMe over Fabrics",
		Long: `Make this host an NVMe over Fabrics target, through the kernel's nvmet: other
hosts then connect to its device by nvmeof(...) as the source of a stack, or by
"nvme connect". No other program is needed.

EXIT STATUS
  that of the command below it`,
		Example: `  sudo plimsoll target export serial:S4EV --destroy S4EV --addr 10.0.0.1 --allow-host "$(cat hostnqn)"
  plimsoll target list`,
	}
	f := cmd.PersistentFlags()
	f.StringVar(&t.Configfs, "path.configfs", configfs.Root, "`directory` where configfs is mounted")
	f.StringVar(&t.Host.Roots.Sys, "path.sysfs", t.Host.Roots.Sys, "`directory` where sysfs is mounted")
	f.BoolVar(&a.jsonOutput, "json", false, "print JSON")
	isGroup(cmd)
	cmd.AddCommand(newTargetExport(a, t), newTargetUnexport(a, t), newTargetList(a, t), newTargetMetrics(a, t))
	return cmd
}

func newTargetExport(a *app, t *nvmetarget.Targets) *cobra.Command {
	var (
		e       nvmetarget.Export
		secret  string
		capsule string
		destroy []string
	)
	cmd := &cobra.Command{
		Use:   "export DEVICE",
		Short: "Let other hosts use a block device of this one",
		Long: `Export a block device: its path, serial:SERIAL, by-id:NAME or uuid:UUID. The
export goes on when this command has ended, until "plimsoll target unexport",
"plimsoll clean --exports" or a reboot.

Any host that connects can overwrite the device. So it is refused by the same rules
as for a stack: --destroy has to name it, and it must not be mounted, held, or
used as swap. Partitions and a signature are overlooked where you say so for
that very device: --destroy S4EVNF0M123456=signature,partitioned

Only hosts that --allow-host names may connect; --allow-any lets every one in. With
--secret-file they also have to know a DH-HMAC-CHAP secret, which is read from a
file that its owner alone can read ("nvme gen-dhchap-key" makes one). It is not
printed, and not in the journal; the kernel shows it to root.

EXIT STATUS
  0    exported
  1    the export failed; nothing of it is left
  2    the command line is wrong
  3    the host lacks something that is needed
  4    the device, the name or the host is protected; nothing was touched
  130  interrupted; everything was undone`,
		Example: `  sudo plimsoll target export serial:S4EV --destroy S4EV --addr 10.0.0.1 --allow-host "$(cat hostnqn)"
  sudo plimsoll target export /dev/nvme1n1 --destroy /dev/nvme1n1 --transport rdma --addr 10.0.0.1 --allow-any`,
		Args: exactly(1, "the device to export"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.Device = deviceName(args[0])
			t.State = a.state
			t.Allow = nil
			for _, d := range destroy {
				p, err := stack.ParsePermission(d)
				if err != nil {
					return &exitError{exitUsage, err}
				}
				t.Allow = append(t.Allow, p)
			}
			if secret != "" {
				var err error
				if e.Secret, err = nvme.ReadSecret(secret); err != nil {
					return &exitError{exitUsage, fmt.Errorf("--secret-file: %w", err)}
				}
			}
			if capsule != "" {
				bytes, err := field.Size(0, math.MaxInt64).Like("16KiB, or 0").Parse(capsule)
				if err != nil {
					return &exitError{exitUsage, fmt.Errorf("--in-capsule-data: %w", err)}
				}
				e.Port.InCapsule = strconv.FormatInt(bytes, 10)
			}
			if e.Port.Transport == "loop" && !cmd.Flags().Changed("port") {
				e.Port.Service = ""
			}
			slices.Sort(e.Hosts)
			e.Hosts = slices.Compact(e.Hosts)
			s, err := t.Export(cmd.Context(), e)
			if err != nil {
				return &exitError{codeOf(err), err}
			}
			return a.printTargets([]nvmetarget.Exported{s}, printExported)
		},
		ValidArgsFunction: completeDevice,
	}
	f := cmd.Flags()
	f.StringVar(&e.Port.Transport, "transport", "tcp", "`kind` of fabric: tcp, rdma, or loop for this host itself")
	f.StringVar(&e.Port.Addr, "addr", "", "IP `address` of this host at which it listens")
	f.StringVar(&e.Port.Service, "port", "4420", "`port` at which it listens")
	f.StringVar(&capsule, "in-capsule-data", "", "`size` of data that it takes along with a write's command, for all "+
		"exports at the port (default: the kernel's, 16KiB)")
	f.StringVar(&e.NQN, "nqn", "", "`NQN` of the subsystem (default: a new one)")
	f.StringVar(&e.UUID, "uuid", "", "`UUID` of the namespace (default: the device's own, or a new one)")
	f.StringArrayVar(
		&e.Hosts,
		"allow-host",
		nil,
		"`NQN` of a host that may connect, from its /etc/nvme/hostnqn; repeatable",
	)
	f.BoolVar(&e.AllowAny, "allow-any", false, "let every host connect that reaches the port")
	f.StringVar(&secret, "secret-file", "", "`file` with the hosts' DH-HMAC-CHAP secret")
	f.StringArrayVar(&destroy, "destroy", nil, "the `device`, by serial or path: it may be overwritten")
	completeFlag(cmd, "destroy", completeDevices)
	completeFlag(cmd, "transport", completeWords("tcp", "rdma", "loop"))
	return cmd
}

// deviceName returns the name of a device from an argument in the form of a stack's source.
func deviceName(arg string) string {
	for _, prefix := range []string{"serial:", "by-id:"} {
		if name, ok := strings.CutPrefix(arg, prefix); ok {
			return name
		}
	}
	return arg
}

func newTargetUnexport(a *app, t *nvmetarget.Targets) *cobra.Command {
	return &cobra.Command{
		Use:   "unexport NQN | UUID | DEVICE",
		Short: "Take an export back",
		Long: `Take back what "plimsoll target export" made: by the NQN of the subsystem, the
UUID of its namespace, or the path of its device. Hosts that are connected lose
the device at once; disconnect them first. Exports that other programs made are
left alone.

EXIT STATUS
  0  taken back
  1  something could not be undone; the reason is printed, plimsoll clean goes on
  2  the command line is wrong, or nothing of that name is exported
  4  plimsoll did not export it`,
		Example: `  sudo plimsoll target unexport nqn.2014-08.org.nvmexpress:uuid:6d1f0c1e-5d4c-4c0f-9a53-3f0f6a6f1a11
  sudo plimsoll target unexport /dev/nvme1n1`,
		Args: exactly(1, "what was exported: its NQN, its UUID or the device"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t.State = a.state
			s, err := t.Unexport(cmd.Context(), args[0])
			if err != nil {
				return &exitError{codeOf(err), err}
			}
			return a.printTargets([]nvmetarget.Exported{s}, func(out io.Writer, s nvmetarget.Exported) {
				fmt.Fprintf(out, "%s is not exported any more.\n", s.NQN)
			})
		},
	}
}

func newTargetList(a *app, t *nvmetarget.Targets) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List what this host exports, and to whom",
		Long: `List what this host exports over NVMe over Fabrics, whatever made it so, as the
kernel has it now. It changes nothing.

EXIT STATUS
  0  shown
  1  it cannot be read
  2  the command line is wrong`,
		Example: `  plimsoll target list
  plimsoll target list --json | jq -r '.targets[].nqn'`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			t.State = a.state
			all, err := t.List()
			if err != nil {
				return &exitError{exitFailure, err}
			}
			if len(all) == 0 && !a.jsonOutput {
				fmt.Fprintln(a.stdout, "This host exports no drive.")
				return nil
			}
			return a.printTargets(all, printStanding)
		},
	}
}

func (a *app) printTargets(all []nvmetarget.Exported, text func(io.Writer, nvmetarget.Exported)) error {
	if a.jsonOutput {
		if err := a.document("targets", all); err != nil {
			return &exitError{exitFailure, err}
		}
		return nil
	}
	var out strings.Builder
	for _, s := range all {
		text(&out, s)
	}
	if _, err := io.WriteString(a.stdout, out.String()); err != nil {
		return &exitError{exitFailure, err}
	}
	return nil
}

func printStanding(out io.Writer, s nvmetarget.Exported) {
	fmt.Fprintln(out, s.NQN)
	for _, n := range s.Namespaces {
		state := "enabled"
		if !n.Enabled {
			state = "not enabled"
		}
		fmt.Fprintf(out, "  namespace %-3s %s, UUID %s, %s\n", n.ID, n.Device, n.UUID, state)
	}
	for _, p := range s.Ports {
		fmt.Fprintf(out, "  port          %s\n", p)
	}
	if len(s.Ports) == 0 {
		fmt.Fprintln(out, "  port          none: no host reaches it")
	}
	if s.AllowAny {
		fmt.Fprintln(out, "  hosts         any")
	}
	for _, h := range s.Hosts {
		fmt.Fprintf(out, "  host          %s\n", h)
	}
	made := "plimsoll (journal " + s.Journal + ")"
	if s.Journal == "" {
		made = "another program, or plimsoll with another --state-dir"
	}
	fmt.Fprintf(out, "  made by       %s\n", made)
}

// printExported prints the exported subsystem, and the command to use it.
func printExported(out io.Writer, s nvmetarget.Exported) {
	printStanding(out, s)
	if len(s.Namespaces) == 0 || len(s.Ports) == 0 {
		return
	}
	source := "transport=loop"
	if transport, at, ok := strings.Cut(s.Ports[0], " "); ok {
		colon := strings.LastIndexByte(at, ':')
		source = fmt.Sprintf("transport=%s, addr=%s, port=%s", transport, strings.Trim(at[:colon], "[]"), at[colon+1:])
	}
	id := s.Namespaces[0].UUID
	fmt.Fprintf(out, "\nOn a host that may connect:\n  nvmeof(%s, nqn=%s, uuid=%s)\n  with --destroy uuid:%s\nTo "+
		"take it back:\n  %s\n", source, s.NQN, id, id, printable.AsRoot("target", "unexport", s.NQN))
}
