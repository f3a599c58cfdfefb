package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrLocked says that another process, or another part of this one, holds the lock.
var ErrLocked = errors.New("held by another process")

// lockPoll is how often Lock asks again.
const lockPoll = 50 * time.Millisecond

// TryLock takes the exclusive lock of the file at path, which it creates, or returns ErrLocked at once. The kernel
// gives the lock back when its holder ends, however it ends; closing the returned file does so earlier.
func TryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(file); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	return file, nil
}

// Lock is TryLock that waits for the holder until ctx ends.
func Lock(ctx context.Context, path string) (*os.File, error) {
	for {
		file, err := TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return file, err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(err, context.Cause(ctx))
		case <-time.After(lockPoll):
		}
	}
}
