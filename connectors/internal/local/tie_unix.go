//go:build unix && !linux

package local

import (
	"os/exec"
	"syscall"
)

// tie gives the child its own process group; there is no signal at the parent's death here.
func tie(cmd *exec.Cmd, _ syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}
