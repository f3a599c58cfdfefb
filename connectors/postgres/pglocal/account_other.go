//go:build !unix

package pglocal

import (
	"errors"
	"os/exec"
)

// account stands for the user of this process: there is no other on this system.
type account struct{}

func serverAccount() (*account, error)    { return nil, errors.ErrUnsupported }
func accountFor(string) (*account, error) { return nil, errors.ErrUnsupported }
func (*account) apply(*exec.Cmd)          {}
func (*account) own(string) error         { return errors.ErrUnsupported }
func (*account) reach(string) error       { return errors.ErrUnsupported }
