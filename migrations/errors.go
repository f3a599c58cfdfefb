package migrations

import "fmt"

// NewerError: the database was brought to a version that this binary does not know.
type NewerError struct {
	// Database is the version found, Binary the newest that this binary knows.
	Database, Binary int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the database's schema sr has version %d, but this sr knows versions up to %d only: "+
		"use the sr that brought it there, or a newer one", e.Database, e.Binary)
}
