package local

import (
	"os/exec"
	"syscall"
)

// tie asks the kernel to signal the child when the thread that forks it ends. Go sets this after the change of
// user, which would clear it.
func tie(cmd *exec.Cmd, onDeath syscall.Signal) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = onDeath
}
