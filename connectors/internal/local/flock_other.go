//go:build !unix || solaris || aix

package local

import (
	"errors"
	"os"
)

func flock(*os.File) error { return errors.ErrUnsupported }
