package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"plimsoll/kubernetes/node"
)

// terminationFile is where the kubelet reads how a container ended.
const terminationFile = "/dev/termination-log"

// nodeCommand has what pods of fleets run. People use "fleet".
func nodeCommand() *cobra.Command {
	p := node.Place{Node: os.Getenv("PLIMSOLL_NODE")}
	c := &cobra.Command{Use: "node", Short: "What fleet run starts on nodes", Hidden: true}
	add := func(use, short string, args cobra.PositionalArgs, run func(c *cobra.Command, args []string) error) {
		c.AddCommand(&cobra.Command{Use: use, Short: short, Args: args, RunE: func(c *cobra.Command, args []string) error {
			if p.Program == "" {
				var err error
				if p.Program, err = exec.LookPath("plimsoll"); err != nil {
					return fmt.Errorf("the image has no plimsoll: %w", err)
				}
			}
			return run(c, args)
		}})
	}
	add("measure -- EXPERIMENT [ARGUMENT]...", "Measure this node, or go on", cobra.MinimumNArgs(1),
		func(c *cobra.Command, args []string) error {
			ended, err := p.Measure(c.Context(), args[0], args[1:], c.OutOrStdout())
			if err != nil {
				return err
			}
			text, err := ended.Message()
			if err != nil {
				return err
			}
			return os.WriteFile(terminationFile, text, 0o600)
		})
	add("doctor -- EXPERIMENT [ARGUMENT]...", "Look whether this node can be measured", cobra.MinimumNArgs(1),
		func(c *cobra.Command, args []string) error {
			checkup, err := p.CheckUp(c.Context(), args[0], args[1:])
			if err != nil {
				return err
			}
			return json.NewEncoder(c.OutOrStdout()).Encode(checkup)
		})
	add("keep", "Wait until the results were taken", cobra.NoArgs,
		func(c *cobra.Command, _ []string) error { return p.Wait(c.Context()) })
	add("send", "Write the results as an archive", cobra.NoArgs,
		func(c *cobra.Command, _ []string) error { return p.Send(c.OutOrStdout()) })
	add("forget", "Remove the results", cobra.NoArgs, func(*cobra.Command, []string) error { return p.Forget() })
	add("clean", "Undo what runs left, and remove what fleets have here", cobra.NoArgs,
		func(c *cobra.Command, _ []string) error {
			err := p.Clean(c.Context(), c.OutOrStdout())
			if err != nil {
				err = errors.Join(err, os.WriteFile(terminationFile, []byte(err.Error()), 0o600))
			}
			return err
		})
	f := c.PersistentFlags()
	f.StringVar(&p.Run, "run", "", "`id` of the run of the fleet")
	f.StringVar(&p.Node, "node", p.Node, "`name` of this node")
	f.StringVar(&p.Host, "host", "/host", "`directory` that has the node's file systems; none for our own")
	f.StringVar(&p.Base, "base", node.Base, "`directory` of the node for runs of fleets")
	f.StringVar(&p.Program, "plimsoll", "", "`file` of plimsoll (default: in PATH)")
	return c
}
