package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/host/nvme"
	"plimsoll/internal/problem"
	"plimsoll/internal/reattach"
)

func newMoveDriveCommand(a *app) *cobra.Command {
	var (
		m               reattach.Move
		container, unit string
		dryRun          bool
	)
	cmd := &cobra.Command{
		Use:   "move-drive NQN",
		Short: "Move a service with its remote drive to another host",
		Long: `Move a service from one host to another by connecting its drive there. The drive
is an export of "plimsoll target" over TCP, so no data is copied. The service is
stopped, the drive unmounted and disconnected. The target then takes it away from
the old host, and lets in the new one alone, where it is mounted and the service
started. Each step is verified.

Killed at any step, the same command finishes the move or takes it back, and so
does "plimsoll clean": back until the target has revoked the old host, and forward
from then on. Each machine needs plimsoll in its PATH, and root at the other end of
ssh without a password. The service has to exist on the new host, stopped.

EXIT STATUS
  0    moved
  1    the move failed; the message says whether it was finished or taken back
  2    the command line is wrong, or the target does not export that
  3    a machine lacks something that is needed, or does not answer
  4    the drive is in use, or other hosts may use it; nothing was changed
  130  interrupted; it was finished or taken back`,
		Example: `  sudo plimsoll move-drive nqn.2014-08.org.nvmexpress:uuid:6d1f0c1e-5d4c-4c0f-9a53-3f0f6a6f1a11 \
    --target ssh://root@target --from ssh://root@host1 --to ssh://root@host2 --container db --mount /srv/db
  sudo plimsoll move-drive "$NQN" --target here --from ssh://root@host1 --to ssh://root@host2 \
    --unit db --mount /srv/db`,
		Args: exactly(1, "the NQN of the subsystem with the drive"),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.Drive.NQN, m.State = args[0], a.state
			m.Service = reattach.Service{Kind: "container", Name: container}
			if unit != "" {
				m.Service = reattach.Service{Kind: "unit", Name: unit}
			}
			if err := requireOne(cmd, "from", "to", "target", "mount"); err != nil {
				return err
			}
			if err := checkMove(m, container, unit); err != nil {
				return err
			}
			trace := func(text string) { fmt.Fprintln(a.stderr, text) }
			done, err := reattach.Do(cmd.Context(), &m, dryRun, trace)
			switch {
			case err != nil:
				return &exitError{codeOf(err), err}
			case dryRun:
				fmt.Fprintf(a.stdout, "It can move: drive %s with %s, from %s to %s. No change was made.\n", m.Drive.UUID,
					m.Service.Name, m.From, m.To)
			case done.Downtime == 0:
				fmt.Fprintf(a.stdout, "%s runs on %s: an earlier move is %s.\n", m.Service.Name, m.To, done.Outcome)
			default:
				fmt.Fprintf(a.stdout, "%s runs on %s. It was down for at most %s.\n", m.Service.Name, m.To,
					done.Downtime.Round(100*time.Millisecond))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&m.From, "from", "", "`machine` that has the drive: ssh://root@HOST, or here")
	f.StringVar(&m.To, "to", "", "`machine` that is to have it")
	f.StringVar(&m.Target, "target", "", "`machine` that exports it")
	f.StringVar(&m.Dir, "mount", "", "`directory` at which it is mounted, on both hosts")
	f.StringVar(&container, "container", "", "`name` of the Docker container that runs on it")
	f.StringVar(&unit, "unit", "", "`name` of the systemd unit that runs on it, instead of a container")
	f.BoolVar(&m.FromGone, "old-host-is-gone", false, "the old host has no power and does not answer: revoke it first")
	f.BoolVarP(&dryRun, "dry-run", "n", false, "only look whether it can move")
	return cmd
}

// checkMove refuses a command line that is wrong.
func checkMove(m reattach.Move, container, unit string) error {
	var all problem.List
	wrong := func(is bool, format string, v ...any) {
		if is {
			all = append(all, problem.Problem{Kind: problem.Invalid, What: fmt.Sprintf(format, v...)})
		}
	}
	for _, machine := range []string{m.From, m.To, m.Target} {
		wrong(!reattach.IsMachine(machine), "%q is no machine: ssh://root@HOST, or here", machine)
	}
	wrong(m.From == m.To, "--from and --to name the same machine")
	wrong((container == "") == (unit == ""), "what runs on the drive? --container NAME or --unit NAME, one of them")
	err := nvme.CheckNQN(m.Drive.NQN)
	wrong(err != nil, "NQN %q: %v", m.Drive.NQN, err)
	return all.Err()
}

// newMoveDriveStepCommand returns the command that does one step of a move for the plimsoll of another machine.
func newMoveDriveStepCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: reattach.StepCommand, Hidden: true, Args: noArgs,
		Short: "Do one step of a drive's move on this machine",
		Long: `Do one step of "plimsoll move-drive" on this machine, for the plimsoll of another
one that started this through ssh. The step comes over standard input, and what
became of it goes to standard output. docs/how-to/move-a-drive.md explains it.

EXIT STATUS
  0  the step was answered, also where it failed
  1  what came is no request`,
		Example: `  ssh root@host1 plimsoll move-drive-step`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return failure(reattach.Serve(cmd.Context(), os.Stdin, a.stdout, a.state))
		},
	}
}
