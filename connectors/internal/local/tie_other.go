//go:build !unix

package local

import (
	"os/exec"
	"syscall"
)

// tie does nothing: this system has neither process groups nor a signal at the parent's death.
func tie(*exec.Cmd, syscall.Signal) {}
